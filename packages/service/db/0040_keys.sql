-- What customers do with their keys themselves.

-- A new secret does not end the one before at once: until then requests are signed with either.
alter table api_key add column secret_made_at timestamptz;
update api_key set secret_made_at = created_at;
alter table api_key alter column secret_made_at set not null;
alter table api_key add column old_sealed_secret text;
alter table api_key add column old_secret_made_at timestamptz;
alter table api_key add column old_secret_until timestamptz;
alter table api_key add constraint api_key_old_secret_whole
  check (num_nulls(old_sealed_secret, old_secret_made_at, old_secret_until) in (0, 3));

-- The key that made it; null: the operator did. What a key with a daily cap makes spends from the
-- same day's sum as itself, or it could spend its cap once more with each key that it makes.
alter table api_key add column made_by_key text;
alter table api_key add column spends_from text;   -- null: from a sum of its own
alter table api_key add constraint api_key_made_by_key foreign key (made_by_key)
  references api_key (id);
alter table api_key add constraint api_key_spends_from foreign key (spends_from)
  references api_key (id);
alter table api_key add column last_used_at timestamptz;     -- to the minute
