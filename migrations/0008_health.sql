-- How the loss of a run behaves, as JSON: {"kind": "sound"}, or "plateau", "stalled", "unstable", "diverged" with their numbers.
-- Null where nobody watched it: in runs of before, or where the config switches it off.
ALTER TABLE runs ADD COLUMN health TEXT;
