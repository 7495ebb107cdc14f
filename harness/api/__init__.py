"""The gRPC interfaces: .proto files and the stubs that tools/generate_api.py makes from them."""
