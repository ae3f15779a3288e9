-- The archive of transfers on several machines: on the one that PENSTOCK_CLICKHOUSE_URL names.
-- Blocks are spread by thousands, and what an address did lies on one machine.
create database if not exists penstock;
create table if not exists penstock.transfer_by_block as penstock_shard.transfer_by_block
  engine = Distributed(penstock, penstock_shard, transfer_by_block, intDiv(number, 1000));
create table if not exists penstock.transfer_by_address as penstock_shard.transfer_by_address
  engine = Distributed(penstock, penstock_shard, transfer_by_address, cityHash64(address));
