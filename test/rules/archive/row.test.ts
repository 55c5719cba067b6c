import { expect, test } from "vitest";
import { readRow } from "../../../src/rules/archive/row.ts";

const options = { sites: undefined, isNew: () => true };

test("a row of a backup or a database of a server is read with its switches and its password", () => {
  const common = { id: 3, password: "popcorn", hide: "a", readme: "", header: "" };
  const backup = { ...common, path: "films/", p_sub: true, h_sub: false, read_users: null };
  const database = { ...common, path: "/films", p_sub: 1, h_sub: 0, read_users: "null" };
  for (const row of [backup, database])
    expect(readRow(row, options)).toMatchObject({
      input: {
        path: "/films",
        values: { password: "popcorn", p_sub: true, h_sub: false, hide: "a" },
      },
    });
});

test.each([
  ["a list", { read_users: [2] }],
  ["a list in a column of a database", { read_users: "[2]" }],
  ["a list of writers", { write_users: [1, 2] }],
])(
  "a row with users as %s is not imported: without them, the folder would be open",
  (_form, users) => {
    expect(readRow({ path: "/films", ...users }, options)).toMatchObject({ path: "/films" });
    expect(readRow({ path: "/films", ...users }, options)).not.toHaveProperty("input");
  },
);

test.each([[null], [7], [{}], [{ path: 7 }]])("%j is no row of a rule", (row) => {
  expect(readRow(row, options)).not.toHaveProperty("input");
});
