-- kind: expand
-- What the word of a list's publisher counts for; when the list was last read, whether it had
-- changed or not, and since when that fails.
alter table list
  add column kind text not null default 'curated',
  add column read_at timestamptz,
  add column failing_since timestamptz,
  add column error text,
  add constraint list_kind check (kind in ('authority', 'curated')),
  add constraint list_failing_says_why check ((failing_since is null) = (error is null));
update list set kind = 'authority' where code in ('ofac_sdn', 'nbctf', 'opensanctions');
update list set read_at = v.loaded_at
from (select list, max(loaded_at) as loaded_at from list_version group by list) as v
where v.list = list.code;
