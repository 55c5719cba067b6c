import type { Generated, Insertable, Selectable } from "kysely";
import type { AccessDatabase } from "./access-schema.ts";
import type { AuditDatabase } from "./audit-schema.ts";
import type { SiteDatabase } from "./site-schema.ts";

/** A stored setting. Known keys have a row only once somebody set them. */
export interface SettingTable {
  key: string;
  value: string;
  type: string;
  options: string;
  help: string;
  group_id: number;
  flag: number;
  /** `known`: defined by the program when it was written. `custom`: made by a client. */
  origin: "known" | "custom";
  /** Order of custom settings among themselves; 0 for known ones. */
  position: number;
  /** The revision that wrote this row last. */
  revision: number;
}

/** One committed change of settings: when, by whom, through which door. */
export interface RevisionTable {
  revision: number;
  /** Milliseconds since 1970 UTC. */
  time: number;
  actor: string;
  door: string;
  method: string;
  request_id: string;
  peer: string;
  reason: string;
}

/**
 * What a revision did to one key. A value is null where the setting did not exist, and where it is
 * secret: then a keyed hash stands in its place. The definitions are JSON, of custom settings only.
 */
export interface ChangeTable {
  revision: number;
  key: string;
  old_value: string | null;
  new_value: string | null;
  old_hash: string | null;
  new_hash: string | null;
  old_definition: string | null;
  new_definition: string | null;
}

/** Facts about the database itself, such as its random id. */
export interface MetaTable {
  name: string;
  value: string;
}

export interface Database extends SiteDatabase, AccessDatabase, AuditDatabase {
  setting: SettingTable;
  revision: RevisionTable;
  change: ChangeTable;
  meta: MetaTable;
}

export type SettingRow = Selectable<SettingTable>;
export type RevisionRow = Selectable<RevisionTable>;
export type ChangeRow = Selectable<ChangeTable>;
export type NewSettingRow = Insertable<SettingTable>;
export type { Generated };
