-- The database of a new installation; roles.sql comes before it, also by its name, where a
-- container of PostgreSQL runs what is in this folder on its first start.
create database penstock owner penstock_owner encoding 'UTF8' template template0;
