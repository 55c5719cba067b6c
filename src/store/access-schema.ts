import type { Generated, Selectable } from "kysely";

/** Somebody who has tokens. `version` is the one of the tables that wrote the row last. */
export interface PrincipalTable {
  id: string;
  name: string;
  kind: string;
  /** Milliseconds since 1970 UTC, as all times here. */
  created_at: number;
  created_by: string;
  disabled_at: number | null;
  version: number;
}

/** A token: its text is not kept, a hash of its secret is. */
export interface AccessTokenTable {
  id: string;
  principal_id: string;
  /** SHA-256 of the secret in base64url. */
  hash: string;
  /** JSON arrays. */
  scopes: string;
  limits: string;
  comment: string;
  created_at: number;
  created_by: string;
  expires_at: number | null;
  /** It ends then whatever it was made for: a successor has taken its place. */
  not_after: number | null;
  replaced_by: string | null;
  revoked_at: number | null;
  revoked_by: string | null;
  /**
   * When it was first seen that it has ended, in milliseconds that were counted while the service ran;
   * null: it holds, as far as anybody has looked.
   */
  ended_at: Generated<number | null>;
  version: number;
}

/** When a token was used last. Apart: it is written all the time, and nobody has to be told. */
export interface TokenUseTable {
  token_id: string;
  time: number;
  peer: string;
}

/** One row: the version of the other tables, which grows by one with each change. */
export interface AccessHeadTable {
  id: number;
  version: number;
}

/** The tables of access. */
export interface AccessDatabase {
  principal: PrincipalTable;
  access_token: AccessTokenTable;
  token_use: TokenUseTable;
  access_head: AccessHeadTable;
}

export type PrincipalRow = Selectable<PrincipalTable>;
export type AccessTokenRow = Selectable<AccessTokenTable>;
