-- kind: expand
-- Backups that were made of this database, and what was found when they were looked at; and what a
-- restored database must say of itself before anything is sold or sent by it.
create table backup (
  place       text not null,        -- a folder and its machine, or a repository
  id          text not null,
  made_at     timestamptz not null, -- as of when it is
  bytes       bigint not null,
  checked_at  timestamptz,          -- when its files were last held against their sums
  restored_at timestamptz,          -- when it was last restored on trial
  found       text[] not null default '{}',
  constraint backup_pkey primary key (place, id),
  constraint backup_bytes check (bytes >= 0)
);
create index backup_made on backup (made_at);

grant select on backup to penstock_api, penstock_worker, penstock_admin, penstock_read;
grant insert, update on backup to penstock_admin;

-- When the whole database was restored, and from which block on the chain knows more than it.
alter table database_loss add column restored_to timestamptz;
alter table database_loss add column from_block bigint;
