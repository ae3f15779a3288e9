-- The archive of transfers on several machines: on each of them (docs/operators/archive.md). With
-- replicas take ReplicatedReplacingMergeTree instead.
create database if not exists penstock_shard;
create table if not exists penstock_shard.transfer_by_block (
  number UInt64, place UInt32, asset UInt32, sender FixedString(20), receiver FixedString(20),
  amount UInt64, tx_id FixedString(32)
) engine = ReplacingMergeTree partition by intDiv(number, 1000000) order by (number, place)
settings index_granularity = 1024;
create table if not exists penstock_shard.transfer_by_address (
  address FixedString(20), other FixedString(20), asset UInt32, number UInt64, place UInt32,
  sent UInt8, amount UInt64
) engine = ReplacingMergeTree order by (address, other, asset, number, place, sent)
settings index_granularity = 1024;
