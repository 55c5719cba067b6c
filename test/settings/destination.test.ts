import { expect, test } from "vitest";
import { loadSettingDefinitions } from "../../src/settings/definition-file.ts";

const definitions = loadSettingDefinitions(undefined, "all");
const secrets = definitions.filter(({ secret }) => secret).map(({ key }) => key);

/** Secrets that no server sends to an address of another setting. */
const STAY: Readonly<Record<string, string>> = {
  token: "checked by the server itself",
  s3_secret_access_key: "checked by the server itself",
  qbittorrent_url: "has its address itself",
  transmission_uri: "has its address itself",
};

test("every secret has the settings that decide where it is sent, or a reason for none", () => {
  const sent = new Set(definitions.flatMap(({ destinationOf }) => destinationOf));
  expect(secrets.filter((key) => sent.has(key) === Object.hasOwn(STAY, key))).toEqual([]);
});

test("every setting with an address beside secrets is their destination", () => {
  const unmarked = definitions.filter(
    ({ key, group, secret, format, destinationOf }) =>
      !secret &&
      destinationOf.length === 0 &&
      (format === "url" ||
        format === "ldap_server" ||
        format === "host" ||
        /_(?:uri|url|server|addr|endpoint)/.test(key)) &&
      definitions.some(
        (other) => other.secret && other.group === group && !Object.hasOwn(STAY, other.key),
      ),
  );
  expect(unmarked.map(({ key }) => key)).toEqual([]);
});

test("only secrets have destinations", () => {
  const all = definitions.flatMap(({ destinationOf }) => destinationOf);
  expect(all.filter((key) => !secrets.includes(key))).toEqual([]);
});
