import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Config } from "../../src/config/config.ts";
import { definitionList, flagOf } from "../../src/config/definition.ts";
import { anyText } from "../any-text.ts";
import { configOf, type Input, parse, problemsOf } from "./parse.ts";

const token = "a-token-that-nobody-should-ever-see-0123456789";
const hexKey = "0f".repeat(32);
const otherKey = Buffer.alloc(32, 7).toString("base64");

test("without flags and variables the defaults apply", () => {
  expect(configOf({})).toEqual({
    listen: { host: "127.0.0.1", port: 5244 },
    grpcListen: undefined,
    dataDir: "/srv/data",
    database: { dialect: "sqlite", filename: "/srv/data/mooring.db" },
    adminToken: undefined,
    httpStatus: "envelope",
    corsOrigins: "*",
    logLevel: "info",
    logFormat: "auto",
    shutdownGraceMs: 10_000,
    family: "openlist",
    driversDir: undefined,
    driversEnabled: undefined,
    metricsListen: undefined,
    settingsFile: undefined,
    stateFile: undefined,
    mountsFile: undefined,
    historyRevisions: 10_000,
    auditRows: 500_000,
    auditAgeMs: 400 * 86_400_000,
    endedTokenAgeMs: 90 * 86_400_000,
    historyAgeMs: 365 * 86_400_000,
    secretKeys: [],
    bodyTimeoutMs: 30_000,
    maxStreams: 256,
    maxConnections: 10_000,
    maxConnectionsPerPeer: 1_000,
    maxBuffered: 64 * 1024 ** 2,
    maxBody: 8 * 1024 ** 2,
    maxValue: 1024 ** 2,
    maxCustomSettings: 2_000,
    maxSettings: 8 * 1024 ** 2,
    maxPublicSettings: 2 * 1024 ** 2,
    maxHeaders: 64 * 1024,
    streamBuffer: 4 * 1024 ** 2,
    streamBufferTotal: 64 * 1024 ** 2,
    reflection: "on",
    trustedProxies: [],
    tls: undefined,
    wrongTokens: 10,
    socketMode: 0o600,
    integrityCheck: "auto",
    probeIntervalMs: 3_600_000,
    webhookTargets: "public",
    backupDir: undefined,
    backupSchedule: undefined,
    backupKeep: { daily: 7, weekly: 4, monthly: 12 },
    backupPassphrase: undefined,
    backupUser: undefined,
    backupPassword: undefined,
    backupS3Endpoint: undefined,
    backupS3Region: "us-east-1",
    console: "on",
    consoleFrameAncestors: [],
    workers: 1,
  });
});

describe("each variable is parsed", () => {
  const cases: [variable: string, text: string, part: Partial<Config>][] = [
    ["MOORING_LISTEN", ":80", { listen: { host: "", port: 80 } }],
    ["MOORING_GRPC_LISTEN", "[::1]:0", { grpcListen: { host: "::1", port: 0 } }],
    ["MOORING_WRONG_TOKENS", "0", { wrongTokens: 0 }],
    ["MOORING_STATE_FILE", "state.yaml", { stateFile: "/srv/state.yaml" }],
    ["MOORING_MOUNTS_FILE", "mounts.yaml", { mountsFile: "/srv/mounts.yaml" }],
    ["MOORING_PROBE_INTERVAL", "15m", { probeIntervalMs: 900_000 }],
    ["MOORING_WEBHOOK_TARGETS", "any", { webhookTargets: "any" }],
    [
      "MOORING_DATA_DIR",
      "/var/lib/mooring",
      {
        dataDir: "/var/lib/mooring",
        database: { dialect: "sqlite", filename: "/var/lib/mooring/mooring.db" },
      },
    ],
    [
      "MOORING_DATABASE_URL",
      "sqlite:site.db",
      { database: { dialect: "sqlite", filename: "/srv/site.db" } },
    ],
    ["MOORING_ADMIN_TOKEN", token, { adminToken: token }],
    ["MOORING_HTTP_STATUS", "code", { httpStatus: "code" }],
    ["MOORING_CORS_ORIGINS", "https://a.example", { corsOrigins: ["https://a.example"] }],
    ["MOORING_LOG_LEVEL", "silent", { logLevel: "silent" }],
    ["MOORING_LOG_FORMAT", "pretty", { logFormat: "pretty" }],
    ["MOORING_SHUTDOWN_GRACE", "500ms", { shutdownGraceMs: 500 }],
    ["MOORING_DRIVERS_DIR", "drivers", { driversDir: "/srv/drivers" }],
    ["MOORING_DRIVERS_ENABLED", "Local, 115 Cloud", { driversEnabled: ["Local", "115 Cloud"] }],
    ["MOORING_SETTINGS_FILE", "site.yaml", { settingsFile: "/srv/site.yaml" }],
    ["MOORING_HISTORY_REVISIONS", "50", { historyRevisions: 50 }],
    ["MOORING_HISTORY_AGE", "2d", { historyAgeMs: 172_800_000 }],
    ["MOORING_AUDIT_ROWS", "50", { auditRows: 50 }],
    ["MOORING_AUDIT_AGE", "2d", { auditAgeMs: 172_800_000 }],
    ["MOORING_ENDED_TOKEN_AGE", "30d", { endedTokenAgeMs: 2_592_000_000 }],
    ["MOORING_BODY_TIMEOUT", "5s", { bodyTimeoutMs: 5_000 }],
    ["MOORING_MAX_STREAMS", "10", { maxStreams: 10 }],
    ["MOORING_MAX_CONNECTIONS", "20", { maxConnections: 20 }],
    ["MOORING_MAX_CONNECTIONS_PER_PEER", "5", { maxConnectionsPerPeer: 5 }],
    ["MOORING_MAX_BUFFERED", "1GiB", { maxBuffered: 1024 ** 3 }],
    ["MOORING_MAX_BODY", "1048577B", { maxBody: 1_048_577 }],
    ["MOORING_MAX_VALUE", "64KiB", { maxValue: 65_536 }],
    ["MOORING_MAX_HEADERS", "16KiB", { maxHeaders: 16_384 }],
    ["MOORING_STREAM_BUFFER", "1MiB", { streamBuffer: 1024 ** 2 }],
    ["MOORING_STREAM_BUFFER_TOTAL", "8MiB", { streamBufferTotal: 8 * 1024 ** 2 }],
    ["MOORING_REFLECTION", "token", { reflection: "token" }],
    ["MOORING_SOCKET_MODE", "660", { socketMode: 0o660 }],
    [
      "MOORING_TRUSTED_PROXIES",
      "10.0.0.0/8, ::1,unix",
      { trustedProxies: ["10.0.0.0/8", "::1", "unix"] },
    ],
    ["MOORING_INTEGRITY_CHECK", "always", { integrityCheck: "always" }],
    ["MOORING_WORKERS", "3", { workers: 3 }],
    ["MOORING_WORKERS", "auto", { workers: 4 }],
  ];
  test.each(cases)("%s=%s", (variable, text, part) => {
    expect(configOf({ env: { [variable]: text } })).toMatchObject(part);
  });
  test.each(cases)("%s=%s, by its flag", (variable, text, part) => {
    const flag = flagOf({ variable: variable as `MOORING_${string}` });
    expect(configOf({ args: [flag, text] })).toMatchObject(part);
    expect(configOf({ args: [`${flag}=${text}`] })).toMatchObject(part);
  });
});

describe("the source of a value", () => {
  test("is the flag if it is set; an invalid variable is then ignored", () => {
    const invocation = { args: ["--workers", "2"], env: { MOORING_WORKERS: "wrong" } };
    expect(configOf(invocation).workers).toBe(2);
  });
  test.each(["", "  ", undefined])("a variable that is %j counts as unset", (text) => {
    expect(configOf({ env: { MOORING_LOG_LEVEL: text } }).logLevel).toBe("info");
  });
  test("has no surrounding white space", () => {
    expect(configOf({ env: { MOORING_LOG_LEVEL: " warn\r" } }).logLevel).toBe("warn");
  });
  test("is no other variable of the environment", () => {
    expect(parse({ env: { PATH: "/bin", mooring: "1" } }).kind).toBe("config");
  });
  test("is no variable of other commands, if they are given", () => {
    const env = { MOORING_ADDRESS: "127.0.0.1:5244" };
    expect(parse({ env, otherVariables: ["MOORING_ADDRESS"] }).kind).toBe("config");
    expect(problemsOf({ env })).toHaveLength(1);
  });
  test("is no variable that Kubernetes sets for a service named mooring", () => {
    const env = {
      MOORING_SERVICE_HOST: "10.0.0.7",
      MOORING_SERVICE_PORT: "5244",
      MOORING_SERVICE_PORT_HTTP: "5244",
      MOORING_PORT: "tcp://10.0.0.7:5244",
      MOORING_PORT_5244_TCP: "tcp://10.0.0.7:5244",
      MOORING_PORT_5244_TCP_PROTO: "tcp",
      MOORING_PORT_5244_TCP_PORT: "5244",
      MOORING_PORT_5244_TCP_ADDR: "10.0.0.7",
      MOORING_GRPC_PORT: "tcp://10.0.0.8:5245",
    };
    expect(problemsOf({ env })).toEqual([]);
    expect(problemsOf({ env: { MOORING_PORT: "5244" } })).toHaveLength(1);
  });
});

describe("secrets", () => {
  test("the first key seals, and the others only open", () => {
    const env = { MOORING_SECRET_KEY: `${hexKey}, ${otherKey}` };
    const keys = configOf({ env }).secretKeys.map((key) => key.export().toString("hex"));
    expect(keys).toEqual([hexKey, "07".repeat(32)]);
  });
  test("a token and keys are read from files, without a final line feed", () => {
    const config = configOf({
      env: { MOORING_ADMIN_TOKEN_FILE: "/run/token", MOORING_SECRET_KEY_FILE: "keys" },
      files: { "/run/token": `${token}\n`, "/srv/keys": `${hexKey}\n${otherKey}\n` },
    });
    expect(config.adminToken).toBe(token);
    expect(config.secretKeys).toHaveLength(2);
  });
  test("keys are not shown when the configuration is logged", () => {
    const config = configOf({ env: { MOORING_SECRET_KEY: hexKey } });
    expect(JSON.stringify(config)).not.toContain(hexKey);
  });

  const secret = "p4ssw0rd-p4ssw0rd";
  const leaks: [name: string, invocation: Input][] = [
    ["a short token", { env: { MOORING_ADMIN_TOKEN: secret } }],
    ["a token with a space", { args: ["--admin-token", `${secret} ${token}`] }],
    ["a wrong key", { env: { MOORING_SECRET_KEY: `${hexKey},${secret}` } }],
    ["a token in a file", { args: ["--admin-token-file=/t"], files: { "/t": secret } }],
    ["a token under a misspelt flag", { args: ["--admin-tokn", secret] }],
    ["a token under a misspelt flag, joined", { args: [`--admin-tokn=${secret}`] }],
    ["a token under a misspelt variable", { env: { MOORING_ADMIN_TOKN: secret } }],
    ["a token without a flag", { args: ["--admin-token", "=", secret] }],
    ["a password in a URL", { env: { MOORING_DATABASE_URL: `postgres://me:${secret}@h` } }],
    ["a password in no URL", { env: { MOORING_DATABASE_URL: `postgres://me:${secret}%@h:x/db` } }],
    ["a password in a DSN", { env: { MOORING_DATABASE_URL: `host=h password=${secret}` } }],
    ["a password in an origin", { env: { MOORING_CORS_ORIGINS: `https://me:${secret}@h` } }],
  ];
  test.each(leaks)("%s is refused without being repeated", (_, invocation) => {
    const problems = problemsOf(invocation);
    expect(problems.length).toBeGreaterThan(0);
    expect(problems.join("\n")).not.toContain(secret);
  });
});

describe("a text that belongs elsewhere", () => {
  const password = "p4ssw0rd";
  const variables = definitionList.map(({ variable }) => variable);
  test.each(variables)("in %s is refused without its password, or taken as it stands", (name) => {
    for (const url of [
      `postgres://me:${password}@host/db`,
      `https://me:${password}/2@host:1/`,
      `//me:${password}@host`,
      "https://host/%",
      "s3://bucket/%zz",
      "http:host",
      "sqlite:data",
    ]) {
      const problems = problemsOf({ env: { [name]: url } });
      expect(problems.join("\n")).not.toContain(password);
      for (const problem of problems) expect(problem).toContain("MOORING_");
    }
  });

  const paths = [...variables.filter((name) => /_(?:FILE|DIR)$/.test(name)), "MOORING_BACKUP_DIR"];
  test.each(paths)("in %s is no path if it is an address", (name) => {
    for (const url of ["ftp://host/a", "postgres://host/db", "http:host", "s3:bucket", "sqlite:a"])
      expect(problemsOf({ env: { [name]: url } }).join("\n")).toMatch(
        /is an address, and a path is needed|is not a path/,
      );
  });

  test.each([
    ["MOORING_UPSTREAM", "http:host", /write it as http:\/\/HOST:PORT/],
    ["MOORING_UPSTREAM", "http://ho\tst:1", /control character/],
    ["MOORING_UPSTREAM", "http://host\\a", /backslash/],
    ["MOORING_UPSTREAM", "http://host/%", /%25/],
    ["MOORING_BACKUP_S3_ENDPOINT", "https://host/%ff", /%25/],
    ["MOORING_BACKUP_DIR", "s3://bucket/%", /%25/],
    ["MOORING_BACKUP_DIR", "https://host/%zz", /%25/],
    ["MOORING_BACKUP_DIR", "https://host/a\nb", /control character/],
    ["MOORING_DATABASE_URL", "postgres://host/db?port=abc", /a number from 1 to 65535/],
    ["MOORING_DATABASE_URL", "postgres://host/db?port=70000", /a number from 1 to 65535/],
  ])("in %s is refused with a remedy: %j", (name, url, problem) => {
    expect(problemsOf({ env: { [name]: url } }).join("\n")).toMatch(problem);
  });
});

describe("problems", () => {
  const cases: [invocation: Input, problem: RegExp][] = [
    [{ env: { MOORING_LISTEN: "5244" } }, /^MOORING_LISTEN "5244" .*:5244/],
    [{ args: ["--listen=5244"] }, /^--listen "5244" /],
    [{ env: { MOORING_DATABASE_URL: "mysql://h/db" } }, /use sqlite:PATH or postgres:/],
    [{ env: { MOORING_ADMIN_TOKEN: "x".repeat(31) } }, /is shorter than 32 characters/],
    [{ env: { MOORING_ADMIN_TOKEN: "x".repeat(513) } }, /is longer than 512 characters/],
    [{ env: { MOORING_ADMIN_TOKEN: "ü".repeat(32) } }, /not ASCII/],
    [{ env: { MOORING_HTTP_STATUS: "200" } }, /"200" is not one of envelope, code/],
    [{ env: { MOORING_LOG_LEVEL: "loud" } }, /not one of fatal, error, .*silent/],
    [{ env: { MOORING_LOG_FORMAT: "xml" } }, /not one of auto, json, pretty/],
    [{ env: { MOORING_SHUTDOWN_GRACE: "10" } }, /units ms, s, m, h/],
    [{ env: { MOORING_SHUTDOWN_GRACE: "2h" } }, /longer than 1h/],
    [{ env: { MOORING_BODY_TIMEOUT: "0s" } }, /shorter than 1ms/],
    [{ env: { MOORING_MAX_STREAMS: "0" } }, /whole number from 1/],
    [{ env: { MOORING_MAX_BODY: "8" } }, /units B, KiB, MiB, GiB/],
    [{ env: { MOORING_MAX_BODY: "8mb" } }, /units B, KiB, MiB, GiB/],
    [{ env: { MOORING_MAX_HEADERS: "2MiB" } }, /not within 8KiB and 1MiB/],
    [
      { env: { MOORING_MAX_VALUE: "9MiB" } },
      /^MOORING_MAX_VALUE is larger than MOORING_MAX_BODY, which is its upper limit$/,
    ],
    [
      { args: ["--max-body=33MiB"] },
      /^MOORING_MAX_BODY \(34603008 bytes\) is larger than half of MOORING_MAX_BUFFERED \(67108864 bytes\)/,
    ],
    [{ env: { MOORING_MAX_BUFFERED: "15MiB" } }, /MOORING_MAX_BODY \(8388608 bytes\)/],
    [{ args: ["--stream-buffer=1GiB"] }, /larger than MOORING_STREAM_BUFFER_TOTAL/],
    [{ env: { MOORING_REFLECTION: "yes" } }, /not one of on, token, off/],
    [{ env: { MOORING_SOCKET_MODE: "rw" } }, /three octal digits/],
    [
      { env: { MOORING_TRUSTED_PROXIES: "10.0.0.0/33" } },
      /"10.0.0.0\/33", which is neither an IP address/,
    ],
    [{ env: { MOORING_TRUSTED_PROXIES: "proxy.example" } }, /a network such as 10.0.0.0\/8/],
    [{ env: { MOORING_SOCKET_MODE: "0060" } }, /denies access to the service's own user/],
    [{ env: { MOORING_INTEGRITY_CHECK: "on" } }, /not one of auto, always, off/],
    [{ env: { MOORING_WORKERS: "0" } }, /whole number from 1 to 128 nor auto/],
    [{ env: { MOORING_WORKERS: "1.5" } }, /whole number/],
    [{ env: { MOORING_WORKERS: "129" } }, /whole number/],
    [{ env: { MOORING_DRIVERS_ENABLED: "Local,,S3" } }, /empty name/],
    [{ env: { MOORING_DRIVERS_ENABLED: "S3,S3" } }, /twice/],
    [{ env: { MOORING_DATA_DIR: "~/data" } }, /write the whole path/],
    [{ env: { MOORING_DATA_DIR: "x".repeat(70_000) } }, /longer than 65536 characters/],
    [{ env: { MOORING_ADMIN_TOKEN_FILE: "/none" } }, /"\/none" can't be read: there is no such/],
    [{ args: ["--admin-token-file=/t"], files: { "/t": "\n" } }, /is empty/],
    [{ args: ["--admin-token-file=/t"], files: { "/t": "x".repeat(5000) } }, /right file/],
    [{ args: ["--admin-token-file=/t"], files: { "/t": "short" } }, /"\/t": the content is short/],
    [{ env: { MOORING_LISTN: "x" } }, /unknown variable "MOORING_LISTN".*MOORING_LISTEN\?/],
    [
      { env: { MOORING_QUAYS_KEEP: "x" } },
      /^unknown variable "MOORING_QUAYS_KEEP": --help lists all$/,
    ],
    [{ args: ["--worker", "2"] }, /unknown flag "--worker".*--workers\?/],
    [{ args: ["-listen", ":1"] }, /unknown flag "-listen".*--listen\?/],
    [{ args: ["--hlep"] }, /--help\?/],
    [{ args: ["--workers=1", "--workers=2"] }, /--workers is given twice/],
    [{ args: ["--listen"] }, /--listen needs a value/],
    [{ args: ["--listen="] }, /--listen needs a value/],
    [{ args: ["--listen", "--workers=2"] }, /--listen needs a value/],
    [{ args: ["--workers=2", "now"] }, /argument 2 does not belong to a flag/],
    [{ args: ["--log-level=\u001b[31m\u009b"] }, /"\\u001b\[31m\\u009b"/],
    [{ args: ["--listen=:80", "--grpc-listen=:80"] }, /are both ":80"/],
    [{ args: ["--database-url=sqlite::memory:", "--workers=2"] }, /is in memory/],
    [
      { env: { MOORING_ADMIN_TOKEN: token, MOORING_ADMIN_TOKEN_FILE: "/none" } },
      /both given: keep one/,
    ],
  ];
  test.each(cases)("%j", (invocation, problem) => {
    expect(problemsOf(invocation)).toEqual([expect.stringMatching(problem)]);
  });

  test("are reported together", () => {
    const problems = problemsOf({
      args: ["--listen=nowhere", "--bogus"],
      env: { MOORING_WORKERS: "many", MOORING_LOG_LEVEL: "loud", MOORING_BOGUS: "1" },
    });
    expect(problems).toHaveLength(5);
  });
  test("do not include two ports that the system chooses", () => {
    expect(parse({ args: ["--listen=:0", "--grpc-listen=:0"] }).kind).toBe("config");
  });
});

describe("the result of parsing", () => {
  test.each([["--help"], ["-h"]])("is the help for %s, despite other errors", (flag) => {
    expect(parse({ args: ["--bogus", flag], env: { MOORING_X: "1" } })).toEqual({ kind: "help" });
  });
  test("is the version for --version", () => {
    expect(parse({ args: ["--version"] })).toEqual({ kind: "version" });
  });
  test("is a configuration that is frozen recursively", () => {
    const config = configOf({
      env: { MOORING_SECRET_KEY: hexKey, MOORING_CORS_ORIGINS: "https://a.example" },
    });
    expect([config, ...Object.values(config)].every((part) => Object.isFrozen(part))).toBe(true);
  });
});

describe("any input", () => {
  const variables = fc.constantFrom(...definitionList.map(({ variable }) => variable));
  const flags = fc.constantFrom(...definitionList.map(flagOf));
  const hints = fc.constantFrom("sqlite:", "unix:", "[::1]:1", "*,", "://", "auto", "-", "~");
  const text = fc.oneof(anyText(), fc.tuple(hints, fc.string()).map(join));
  const names = fc.oneof(variables, anyText(), text.map(prefixed));
  const arg = fc.oneof(
    text,
    flags,
    fc.tuple(flags, text).map((pair) => pair.join("=")),
  );
  const input = fc.record({ args: fc.array(arg), env: fc.dictionary(names, text) });

  test("throws no error, and each problem is one line", () => {
    fc.assert(
      fc.property(input, ({ args, env }) => {
        const result = parse({ args, env });
        expect(["config", "problems", "help", "version"]).toContain(result.kind);
        if (result.kind === "problems") {
          expect(result.problems.filter((line) => /[\p{Cc}]/u.test(line))).toEqual([]);
        }
      }),
      { numRuns: 500 },
    );
  });

  function join(parts: readonly string[]): string {
    return parts.join("");
  }
  function prefixed(name: string): string {
    return `MOORING_${name}`;
  }
});

describe("TLS", () => {
  const pair = { MOORING_TLS_CERT_FILE: "tls.pem", MOORING_TLS_KEY_FILE: "/run/tls.key" };

  test("has a certificate, its key, and optional client authorities", () => {
    expect(configOf({ env: pair }).tls).toEqual({
      certificate: "/srv/tls.pem",
      key: "/run/tls.key",
      clientAuthorities: undefined,
    });
    const env = { ...pair, MOORING_TLS_CLIENT_CA_FILE: "ca.pem" };
    expect(configOf({ env }).tls?.clientAuthorities).toBe("/srv/ca.pem");
  });

  test.each<[Record<string, string>, string]>([
    [{ MOORING_TLS_CERT_FILE: "tls.pem" }, "go together"],
    [{ MOORING_TLS_KEY_FILE: "tls.key" }, "go together"],
    [{ MOORING_TLS_CLIENT_CA_FILE: "ca.pem" }, "needs MOORING_TLS_CERT_FILE"],
    [{ ...pair, MOORING_LISTEN: "unix:/run/mooring.sock" }, "a Unix socket has no TLS"],
  ])("%j is refused", (env, problem) => {
    expect(problemsOf({ env })).toEqual([expect.stringContaining(problem)]);
  });
});
