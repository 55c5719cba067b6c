import { expect, test } from "vitest";
import { parseContents } from "../../src/servers/saved.ts";

const USER = {
  name: "ann",
  basePath: "/films",
  roles: ["general"],
  disabled: false,
  permission: 9,
  ssoId: "",
  allowLdap: true,
};
const RULE = { path: "/films", members: { password: "x" }, users: { read_users: ["ann"] } };
const SHARE = {
  id: "films",
  files: ["/films"],
  password: "",
  creator: "ann",
  expires: "",
  accessed: 0,
  maxAccessed: 0,
  disabled: false,
  rest: {},
};
const WHOLE = {
  users: { family: "openlist", users: [USER], roles: [] },
  rules: [RULE],
  shares: [SHARE],
};

const withUser = (change: object) => ({
  ...WHOLE,
  users: { ...WHOLE.users, users: [{ ...USER, ...change }] },
});

test("contents of a server are read as they were saved, also in part", () => {
  expect(parseContents(JSON.stringify(WHOLE))).toEqual(WHOLE);
  expect(parseContents(JSON.stringify({ rules: [RULE] }))).toEqual({ rules: [RULE] });
  expect(parseContents("{}")).toEqual({});
});

test.each([
  ["no JSON", "{"],
  ["a list", []],
  ["null", null],
  ["an unknown family", { ...WHOLE, users: { ...WHOLE.users, family: "other" } }],
  ["users without roles", { users: { family: "openlist", users: [USER] } }],
  ["a user without a name", withUser({ name: "" })],
  ["a user without a folder, which would be the root", withUser({ basePath: "" })],
  ["a folder that is no text", withUser({ basePath: 1 })],
  ["a role that is no text", withUser({ roles: [2] })],
  ["permissions that are no bits", withUser({ permission: 2 ** 40 })],
  ["a state that is no boolean", withUser({ disabled: "no" })],
  ["a rule without a path", { rules: [{ ...RULE, path: undefined }] }],
  ["a rule whose users are a text", { rules: [{ ...RULE, users: { read_users: "ann" } }] }],
  ["a share whose files are a text", { shares: [{ ...SHARE, files: "/" }] }],
  ["a share with a lone surrogate", { shares: [{ ...SHARE, creator: "\ud800" }] }],
  ["too many shares", { shares: Array.from({ length: 10_001 }, () => SHARE) }],
])("other contents are refused as a whole: %s", (_name, value) => {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  expect(parseContents(text)).toBeUndefined();
});
