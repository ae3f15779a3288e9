-- What the signer refused, the switch that stops it, and what the chain says about hot keys.

-- When the signer last refused it, by its rules and not for the moment; `answer` says why.
alter table attempt add column refused_at timestamptz;
create index attempt_refused on attempt (refused_at) where refused_at is not null;

-- Nothing is signed while this says so, or while the last record about it does.
create table signing (
  one boolean default true not null,
  stopped boolean default false not null,
  changed_by text default 'shipped' not null,
  constraint signing_pkey primary key (one),
  constraint signing_has_one_row check (one)
);
insert into signing default values;

-- The last look at the permissions of each wallet, by whoever has its key.
create table wallet_check (
  address text not null,
  checked_at timestamptz not null,
  complaints text[] not null,
  -- Nothing is signed for it, because its key can do more than its line.
  stopped boolean not null,
  -- Nothing is signed on the machine that looked, because of a file there.
  stopped_here boolean not null,
  constraint wallet_check_pkey primary key (address)
);
