-- kind: expand
-- Whose failures a try counts with: those of a name from everywhere, or those of a browser or a
-- network that has signed this name in before. The program before counts by name_hash alone.
alter table sign_in add column count_hash text;
create index sign_in_of_count on sign_in (count_hash, at) where (count_hash is not null);
create index sign_in_known on sign_in (name_hash, network)
  where (outcome = 'done' and name_hash is not null);
