//! Native tools: their bodies are functions of the engine.

pub mod web;
