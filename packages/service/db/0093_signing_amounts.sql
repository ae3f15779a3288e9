-- kind: expand
-- What the signers of all machines are about to sign, counted here before they do: the limits of
-- signing are limits of all together. A worker adds rows, and neither changes one nor takes one out
-- that a limit still looks at; which number a row has is the database's to say, so none is read
-- too late. Programs of the version before count by themselves, as they did.
create table signing_amount (
  number    bigint generated always as identity,
  attempt   text not null,
  type      text not null,
  wallet    text not null,
  sun       bigint not null,
  at        timestamptz not null,
  constraint signing_amount_pkey primary key (number),
  constraint signing_amount_adds check (sun >= 0)
);
create index signing_amount_at on signing_amount (at);

alter table signing_amount enable row level security;
create policy signing_amount_is_read on signing_amount for select using (true);
create policy signing_amount_is_counted on signing_amount for insert
  to penstock_worker, penstock_signer with check (true);
create policy signing_amount_is_old on signing_amount for delete to penstock_worker
  using (at < now() - interval '2 days');

grant select on signing_amount
  to penstock_api, penstock_worker, penstock_admin, penstock_signer, penstock_read;
grant insert (attempt, type, wallet, sun, at) on signing_amount to penstock_worker, penstock_signer;
grant delete on signing_amount to penstock_worker;
