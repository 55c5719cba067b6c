import { type Dialect, PostgresDialect } from "kysely";
import pg from "pg";

/** Time limits, in milliseconds. */
interface Patience {
  /** Time limit for a new connection. */
  readonly connect: number;
  /** Time limit for an answer; the server's own limit is shorter. */
  readonly answer: number;
  readonly statement: number;
  readonly lock: number;
}
const PROMPT: Patience = { connect: 2_000, answer: 3_000, statement: 2_500, lock: 2_000 };
const SAVE = 4_800;
const HOUR = 3_600_000;
const PATIENT: Patience = { connect: 10_000, answer: HOUR + 1_000, statement: HOUR, lock: HOUR };
/** One connection writes, the others read the history. */
const CONNECTIONS = 4;

/** Connection that receives notifications. */
export interface Listening {
  close(): Promise<void>;
}

/** A PostgreSQL server as the store uses it. */
export interface PostgresServer {
  /** Address for messages, without its password. */
  readonly place: string;
  readonly dialect: Dialect;
  /** Dialect with time limits of minutes, for schema changes and copies. */
  readonly patient: Dialect;
  /**
   * Time limit of a whole save, in milliseconds; its connection, lock and statement have shorter
   * ones.
   */
  readonly saveWithin: number;
  /**
   * Opens a dedicated connection for a channel's notifications.
   *
   * @param heard called with each payload.
   * @param lost called once when the connection is lost.
   */
  listen(channel: string, heard: (payload: string) => void, lost: () => void): Promise<Listening>;
}

/**
 * Server of a URL in the notation of the driver.
 *
 * @param place address for display.
 */
export function postgresServer(url: string, place: string): PostgresServer {
  const options: pg.PoolConfig = {
    connectionString: checkingCertificates(url),
    application_name: "mooring",
    connectionTimeoutMillis: PROMPT.connect,
    query_timeout: PROMPT.answer,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: createTypes(),
  };
  const dialect = (patience: Patience): Dialect =>
    new PostgresDialect({
      pool: async () => {
        const pool = new pg.Pool({
          ...options,
          connectionTimeoutMillis: patience.connect,
          query_timeout: patience.answer,
          max: CONNECTIONS,
          Client: BoundedClient,
          onConnect: (client) => setTimeouts(client, patience),
        });
        // The pool replaces a connection that breaks while idle.
        pool.on("error", () => undefined);
        return pool;
      },
    });
  return {
    place,
    dialect: dialect(PROMPT),
    patient: dialect(PATIENT),
    saveWithin: SAVE,
    listen: async (channel, heard, lost) => {
      const client = new pg.Client(options);
      const end = (): void => {
        client.removeAllListeners("end");
        lost();
      };
      client.on("error", () => undefined);
      client.on("notification", ({ payload = "" }) => heard(payload));
      await client.connect();
      client.once("end", end);
      try {
        await client.query(`listen ${pg.escapeIdentifier(channel)}`);
      } catch (error) {
        client.removeAllListeners("end");
        client.connection.stream.destroy();
        throw error;
      }
      return {
        close: async () => {
          client.removeAllListeners("end");
          client.connection.stream.destroy();
        },
      };
    },
  };
}

/** The driver's readers of values, with int8 as the number that the types of rows have. */
function createTypes(): pg.CustomTypesConfig {
  const types = new pg.TypeOverrides();
  // Revisions, counts and milliseconds stay below 2 ** 53.
  types.setTypeParser(pg.types.builtins.INT8, Number);
  return types;
}

/**
 * The modes between `disable` and `verify-full` encrypt without verification: the driver treats
 * them as `verify-full`, with a deprecation warning. `no-verify` is kept.
 */
function checkingCertificates(url: string): string {
  return url.replace(/([?&]sslmode=)(?:allow|prefer|require|verify-ca)(?=&|$)/, "$1verify-full");
}

/**
 * Sets the time limits in a statement: a connection pooler rejects them as connection parameters.
 */
async function setTimeouts(
  client: pg.ClientBase,
  { answer, statement, lock }: Patience,
): Promise<void> {
  await client.query(
    `set statement_timeout = ${statement}; set lock_timeout = ${lock}; set idle_in_transaction_session_timeout = ${answer}`,
  );
}

/**
 * Client that closes a connection after a missed deadline: a late answer would be read as that of
 * the next query.
 */
class BoundedClient extends pg.Client {
  constructor(options?: string | pg.ClientConfig) {
    super(options);
    // A query reports the end of its connection; an idle connection needs no report.
    this.on("error", () => undefined);
  }

  // biome-ignore lint/suspicious/noExplicitAny: the driver's method has a dozen forms.
  override query(...args: any[]): any {
    // biome-ignore lint/suspicious/noExplicitAny: as above.
    const result = (super.query as any)(...args);
    if (result instanceof Promise)
      result.catch((error: unknown) => {
        if (!(error instanceof pg.DatabaseError)) this.connection.stream.destroy();
      });
    return result;
  }
}

/** The timeline of the server's log: another one after each promotion of a standby. */
export const TIMELINE = "substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)";

/** Timeline of a server where no standby was ever promoted. */
export const FIRST_TIMELINE = "00000001";
