import { expect, test } from "vitest";
import { readBuiltIn } from "../../src/drivers/built-in.ts";
import type { Mount } from "../../src/mounts/mount.ts";
import { familyWarnings } from "../../src/mounts/site-family.ts";
import { driverOf } from "../drivers/sample.ts";
import { sampleMount } from "../settings/staged.ts";

const drivers = readBuiltIn({ offer: "all" }).drivers;
const sites = [
  { id: "1", name: "o", kind: "openlist" },
  { id: "2", name: "a", kind: "alist" },
  { id: "3", name: "new", kind: "unknown" },
];

function warnings(driver: string, more: Partial<Mount> = {}): string[] {
  const info = drivers.find(({ config }) => config.name === driver) ?? driverOf({ name: driver });
  const mount = sampleMount("m", { driver, ...more });
  return familyWarnings(mount, info, sites).map(String);
}

test.each<[string, Partial<Mount>, readonly string[]]>([
  ["Local", {}, []],
  ["BaiduShare", {}, ["the site o (openlist) has no driver BaiduShare and cannot mount it"]],
  ["BaiduShare", { siteIds: ["2"] }, []],
  ["BaiduShare", { siteIds: ["3"] }, []],
  ["OpenListShare", {}, ["the site a (alist) has no driver OpenListShare and cannot mount it"]],
  [
    "PikPak",
    { items: { custom_api_domain: "x" } },
    ["the site o (openlist) does not have config.custom_api_domain"],
  ],
  ["PikPak", { items: { custom_api_domain: "" } }, []],
  [
    "WebDav",
    { overrides: { 2: { path: "", items: { tls_insecure_skip_verify: true }, members: {} } } },
    ["the site a (alist) does not have config.tls_insecure_skip_verify"],
  ],
  // A driver of the deployment.
  ["Own", {}, []],
])("%s %j", (driver, more, expected) => {
  expect(warnings(driver, more)).toEqual(expected);
});
