"""The gRPC interfaces: .proto files and the stubs that tools/generate-api makes from them."""
