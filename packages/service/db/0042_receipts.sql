-- What proves to anybody what an order got on the chain.

-- The keys that sign receipts. One signs; of the others the public part stays, because what they
-- have signed is still to be verified, and the private part is gone.
create table signing_key (
  id            text not null,                     -- the thumbprint of the public part (RFC 7638)
  public_key    text not null,                     -- base64url of 32 bytes (Ed25519)
  sealed_private_key text,                         -- '<sealing key>.<base64url>', bound to id
  made_at       timestamptz not null,
  retired_at    timestamptz,                       -- null: it signs
  constraint signing_key_pkey primary key (id),
  constraint signing_key_private_while_it_signs
    check ((sealed_private_key is null) = (retired_at is not null))
);

create unique index signing_key_one_signs on signing_key ((true)) where retired_at is null;

-- The network's ratio when a part was planned: what its stake gave. Null: planned before that was
-- kept.
alter table delegation add column total_limit bigint;
alter table delegation add column total_weight bigint;

-- Blocks are forgotten after a while, receipts name them for good. Null: included before that was
-- kept.
alter table attempt add column block_id text;
