"""Analyse orders: was the customer deceived, was the task done, and what did it cost?"""

from analysis.orders.study import OrdersAnalysis, analyze_orders

__all__ = ["OrdersAnalysis", "analyze_orders"]
