import { expect, test } from "vitest";
import { plainStatus, secretsOf } from "../../../src/mounts/site/plain.ts";
import type { StorageRow } from "../../../src/mounts/site/row.ts";
import { driverByName, mount } from "./desk.ts";

const forms = { driverOf: driverByName };
const row = (driver: string, addition: object, status: string): StorageRow => ({
  id: 1,
  mount_path: "/a",
  driver,
  addition: JSON.stringify(addition),
  status,
  disabled: false,
});

test("a token in a URL that the server has escaped twice is not in the status", () => {
  const token = "1//0gAbCdEf-GhIjKl_MnOp";
  const status = (escaped: string): string =>
    `failed init storage: Get &#34;https://api.example.com/${escaped}&#34;: dial tcp: no such host`;
  const shown = (escaped: string): string =>
    plainStatus(row("GoogleDrive", { refresh_token: token }, status(escaped)), undefined, forms);
  const query = `?refresh_ui=${encodeURIComponent(token)}&amp;server_use=true`;
  expect(shown(`renew${query}`)).toBe(
    "failed init storage: Get &#34;https://api.example.com/renew?********&#34;: dial tcp: no such host",
  );
  for (const escaped of [encodeURIComponent(token), encodeURIComponent(encodeURIComponent(token))])
    expect(shown(escaped)).toBe(status("********"));
});

test("secrets are those of the site's row and of Mooring's mount, and all values outside of the form", () => {
  const items = { refresh_token: "of-the-mount", root_folder_id: "a-folder" };
  const there = { refresh_token: "of-the-row", odd: { list: ["nested-one", 12345] }, no: "abc" };
  expect(
    secretsOf(
      mount({ driver: "GoogleDrive", items }),
      row("GoogleDrive", { ...there, root_folder_id: "other-folder" }, ""),
      forms,
    ).sort(),
  ).toEqual(["12345", "nested-one", "of-the-mount", "of-the-row"]);
});

test("a status of many values that are not checked is not shown", () => {
  const values = Object.fromEntries(
    Array.from({ length: 100_000 }, (_, at) => [`value_${at}`, `value ${at}`]),
  );
  expect(plainStatus(row("GoogleDrive", values, "failed"), undefined, forms)).toBe("********");
  expect(plainStatus(row("GoogleDrive", values, "work"), undefined, forms)).toBe("work");
});

test("a status is hidden when the configuration is too large or too odd to be read", () => {
  const secrets = Array.from({ length: 1_001 }, (_, at) => `secret-${at}`);
  const many = Object.fromEntries(secrets.map((secret, at) => [`k${at}`, secret]));
  const said = "login failed for secret-1000 at the provider";
  expect(plainStatus(row("S3", many, said), undefined, forms)).toBe("********");
  const long = { k: "a".repeat(100_000), ...many };
  expect(plainStatus(row("S3", long, said), undefined, forms)).toBe("********");
  const broken = { ...row("S3", {}, said), addition: '{"password": "secret-1000", ' };
  expect(plainStatus(broken, undefined, forms)).toBe("login failed for ******** at the provider");
});
