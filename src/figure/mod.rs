//! Charts: pure functions from numbers to a drawing, generic over the drawing backend of plotters.
