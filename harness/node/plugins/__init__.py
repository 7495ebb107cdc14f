"""The kubelet's side of the device plugin interface, over real sockets."""

from numaproof.harness.node.plugins.hub import PluginHub, PluginView
from numaproof.harness.node.plugins.responses import merge_responses

__all__ = ["PluginHub", "PluginView", "merge_responses"]
