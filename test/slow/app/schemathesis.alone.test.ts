import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { needs } from "../../downloaders/program.ts";
import { temporaryFolder } from "../../temporary.ts";
import { startService, TOKEN } from "../../wire/service.ts";

beforeEach(needs("schemathesis"));

const CHECKS = [
  "not_a_server_error",
  "status_code_conformance",
  "content_type_conformance",
  "response_schema_conformance",
  "response_headers_conformance",
];

// A revision that does not exist yet is waited for, and is 503 afterwards: correct for the service,
// and slow for a run.
const SHOWN = ["-H", "Mooring-At-Least-Revision: 1"];

// Streams do not end, a new token would end the run's access, and parameters with the address of
// another server would call any generated address.
const EXCLUDED = "watch$|reset_token$|set_\\w+$|site/(?:create|update)$";

test.each([
  {
    who: "with the token",
    header: ["-H", `Authorization: ${TOKEN}`],
    mode: "envelope",
    phases: "examples,coverage,fuzzing",
  },
  {
    who: "without a token",
    header: [],
    mode: "code",
    phases: "examples,coverage",
  },
])(
  "schemathesis finds no failure $who and MOORING_HTTP_STATUS=$mode",
  async ({ header, mode, phases }) => {
    const service = await startService({ env: { MOORING_HTTP_STATUS: mode } });
    onTestFinished(service.stop);
    const cwd = temporaryFolder();
    const args = [
      "run",
      `http://127.0.0.1:${service.port}/openapi.json`,
      "--no-color",
      "--checks",
      CHECKS.join(","),
      "--phases",
      phases,
      "--max-examples",
      "5",
      "--seed",
      "1",
      "--request-timeout",
      "10",
      "--exclude-path-regex",
      EXCLUDED,
      ...SHOWN,
      ...header,
    ];
    const { stdout } = await promisify(execFile)("schemathesis", args, { cwd }).catch((error) => {
      throw new Error(String(error.stdout).slice(-4_000));
    });
    expect(stdout).toMatch(/([1-9]\d\d+) generated, \1 passed/);
    // Not even when the client gets the code 500 in an envelope.
    expect(service.logLines().filter(({ level }) => Number(level) >= 50)).toEqual([]);
  },
  400_000,
);
