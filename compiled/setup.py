"""Compiles the codec, which needs a C compiler."""

from Cython.Build import cythonize
from setuptools import Extension, setup

setup(ext_modules=cythonize([Extension("metalog_codec", ["metalog_codec.pyx"])], build_dir="build"))
