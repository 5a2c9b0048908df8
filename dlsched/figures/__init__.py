"""Plotly figures from frames; knows neither the page library nor the store."""
