"""The shop of tools/book/shop.proto with server reflection: it answers each call with the message that it received.

usage: shop.py PORT; shop.proto is in the current folder.
"""

import concurrent.futures
import pathlib
import sys
import tempfile

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool
from grpc_reflection.v1alpha import reflection
from grpc_tools import protoc

SHOP = "shop.v1.Shop"


def definitions():
    """The definitions of shop.proto, as reflection finds them."""
    with tempfile.NamedTemporaryFile() as file:
        if protoc.main(["protoc", "--proto_path=.", f"--descriptor_set_out={file.name}", "shop.proto"]) != 0:
            sys.exit("shop.py: shop.proto cannot be read")
        described = descriptor_pb2.FileDescriptorSet.FromString(pathlib.Path(file.name).read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for one in described.file:
        pool.Add(one)
    return pool


def main():
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(max_workers=4))
    # Without functions that decode and encode, messages are bytes.
    buy = grpc.unary_unary_rpc_method_handler(lambda message, context: message)
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(SHOP, {"Buy": buy})])
    reflection.enable_server_reflection([SHOP], server, pool=definitions())
    server.add_insecure_port(f"127.0.0.1:{sys.argv[1]}")
    server.start()
    server.wait_for_termination()


main()
