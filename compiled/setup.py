"""Compiles the codecs and the follower of partitions, which needs a C compiler."""

from Cython.Build import cythonize
from setuptools import Extension, setup

MODULES = ("metalog_codec", "metalog_kafka_codec", "metalog_follower")

setup(
    ext_modules=cythonize([Extension(name, [f"{name}.pyx"]) for name in MODULES], build_dir="build")
)
