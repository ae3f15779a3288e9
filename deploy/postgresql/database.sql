-- The database of a new installation, after roles.sql.
create database penstock owner penstock_owner encoding 'UTF8' template template0;
