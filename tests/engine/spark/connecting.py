"""How a process of a test gets a session of Spark Connect: `spark`, from the lines that its code begins with.

PySpark puts every server of its own on the same port and looks for it there. Tests run side by side, so here the
system chooses the port, and the client asks the server which one that was.
"""

from __future__ import annotations

SESSION = """
import os, sys
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import SparkSession
from pyspark.sql.connect.client.core import DefaultChannelBuilder

def port():
    java = SparkSession._instantiatedSession._jvm
    return getattr(getattr(java, "org.apache.spark.sql.connect.service.SparkConnectService$"), "MODULE$").localPort()

DefaultChannelBuilder.default_port = staticmethod(port)
builder = SparkSession.builder.remote("local[2]").config("spark.ui.enabled", "false")
spark = builder.config("spark.connect.grpc.binding.port", "0").getOrCreate()
assert "connect" in type(spark).__module__
"""
