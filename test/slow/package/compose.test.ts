import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { definitionList } from "../../../src/config/definition.ts";
import { needs } from "../../downloaders/program.ts";

const ROOT = join(import.meta.dirname, "../../..");
const FILE = join(ROOT, "packaging/container/compose.yaml");
const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));

/** The file as Docker Compose reads it, which checks it by its schema. */
function composed(env: Readonly<Record<string, string>> = {}) {
  const output = execFileSync("docker-compose", ["-f", FILE, "--profile", "front", "config"], {
    encoding: "utf8",
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  return parse(output).services;
}

beforeEach(needs("docker-compose"));

describe("compose.yaml", () => {
  const { services } = parse(readFileSync(FILE, "utf8"), { merge: true });
  const mooring = Object.entries(services).filter(([name]) => name.startsWith("mooring"));

  test("has three situations, each a profile with one Mooring", () => {
    const profiles = mooring.map(([, one]) => (one as { profiles: string[] }).profiles);
    expect(profiles).toEqual([["alone"], ["beside"], ["front"]]);
  });

  test.each(mooring)("%s has the hardened settings and known variables", (_name, service) => {
    expect(service).toMatchObject({
      image: `mooring:\${MOORING_TAG:-${version}}`,
      user: `\${MOORING_USER:-65532:65532}`,
      read_only: true,
      cap_drop: ["ALL"],
      security_opt: ["no-new-privileges:true"],
      healthcheck: { test: ["CMD", "/usr/local/bin/mooring", "health"] },
    });
    const known = definitionList.map(({ variable }) => variable as string);
    const { environment } = service as { environment: object };
    expect(Object.keys(environment).filter((name) => !known.includes(name))).toEqual([]);
  });

  test("is valid, and takes a folder, a user and a server from variables", () => {
    expect(composed()).toMatchObject({ "mooring-front": { volumes: [expect.anything()] } });
    const own = composed({
      MOORING_DATA: "/volume1/docker/mooring",
      MOORING_USER: "1026:100",
      MOORING_UPSTREAM: "http://192.168.1.20:5244",
    });
    expect(own["mooring-front"]).toMatchObject({
      user: "1026:100",
      environment: { MOORING_UPSTREAM: "http://192.168.1.20:5244" },
    });
    expect(JSON.stringify(own["mooring-front"].volumes)).toContain("/volume1/docker/mooring");
  });
});
