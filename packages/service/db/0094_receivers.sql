-- kind: expand
-- The addresses to which a key may have something delivered; null: any. An empty list is what is
-- left of a key's when the one that made it is bound to others. Programs of the version before
-- look at neither.
alter table api_key add column receivers text[];
grant select (receivers) on api_key to penstock_read;
