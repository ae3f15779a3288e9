-- kind: contract
-- A version of a list is stored as its difference from the version before: entries that it adds,
-- and which of those before it no longer has. Programs that are older would take the entries of one
-- version for all of it.
create table list_removal (
  entry_version bigint not null,
  n             integer not null,
  version_id    bigint not null,                   -- the first version that lacks the entry
  constraint list_removal_pkey primary key (entry_version, n),
  constraint list_removal_of_entry foreign key (entry_version, n)
    references list_entry (version_id, n),
  constraint list_removal_of_version foreign key (version_id) references list_version (id)
);
create index list_removal_by_version on list_removal (version_id);
create trigger list_removal_is_append_only before update or delete on list_removal
  for each row execute function refuse_change();

-- Versions that are there have all their entries: the next version of the list has none of them.
insert into list_removal (entry_version, n, version_id)
select e.version_id, e.n, later.id
from list_entry as e join list_version as v on v.id = e.version_id
cross join lateral (
  select id from list_version where list = v.list and id > v.id order by id limit 1) as later;

-- All that a version of a list says.
create view version_entry as
select v.id as version_id, v.list, e.version_id as entry_version, e.n, e.address, e.category,
  e.entity, e.kind, e.confidence, e.reference, e.valid_from, e.valid_to
from list_version as v join list_version as o on o.list = v.list and o.id <= v.id
join list_entry as e on e.version_id = o.id
left join list_removal as r on r.entry_version = e.version_id and r.n = e.n
where r.version_id is null or r.version_id > v.id;

-- What one version of a list has and another has not. Version 0 says nothing. It costs what the
-- versions between the two have changed, whatever the size of the list.
create function version_difference(before_version bigint, after_version bigint)
returns table (
  change text, list text, address text, category text, entity text, kind text, confidence smallint,
  reference text, valid_from timestamptz, valid_to timestamptz
) language sql stable as $$
  with between_them as (
    select v.id, v.list from list_version as v
    where v.list = (select o.list from list_version as o
        where o.id = greatest(before_version, after_version))
      and v.id > least(before_version, after_version)
      and v.id <= greatest(before_version, after_version)
  ), higher as (
    select b.list, e.address, e.category, e.entity, e.kind, e.confidence, e.reference, e.valid_from,
      e.valid_to
    from between_them as b join list_entry as e on e.version_id = b.id
    left join list_removal as r on r.entry_version = e.version_id and r.n = e.n
    where r.version_id is null or r.version_id > greatest(before_version, after_version)
  ), lower as (
    select b.list, e.address, e.category, e.entity, e.kind, e.confidence, e.reference, e.valid_from,
      e.valid_to
    from between_them as b join list_removal as r on r.version_id = b.id
    join list_entry as e on e.version_id = r.entry_version and e.n = r.n
    where r.entry_version <= least(before_version, after_version)
  )
  select case when after_version > before_version then 'added' else 'removed' end, h.*
  from (select * from higher except select * from lower) as h
  union all
  select case when after_version > before_version then 'removed' else 'added' end, l.*
  from (select * from lower except select * from higher) as l
$$;

grant select on list_removal, version_entry
  to penstock_api, penstock_worker, penstock_admin, penstock_read;
grant insert on list_removal to penstock_worker, penstock_admin;
