"""Layers, from the ground: core, configs, then modeling and data, training, runtime, scripts.

No import runs the other way.
"""
