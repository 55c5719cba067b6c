import { describe, expect, test } from "vitest";
import { shortNames } from "../../../src/gateway/openapi/name.ts";
import { documentPath, pathParameters } from "../../../src/gateway/openapi/path.ts";
import { parsePathTemplate } from "../../../src/gateway/rest/path.ts";

describe("short names", () => {
  test.each([
    ["one of each", ["a.Book", "a.Shelf"], ["Book", "Shelf"]],
    ["one in two packages", ["a.Book", "b.Book"], ["a.Book", "b.Book"]],
    ["one without a package", ["Book", "a.Book"], ["Book", "a.Book"]],
    [
      "equal words",
      ["a.OldBook", "a.Old.Book", "b.Oldbook"],
      ["a.Old.Book", "a.OldBook_2", "b.Oldbook"],
    ],
  ])("of %s", (_, types, expected) => {
    const named = types.map((typeName) => ({
      typeName,
      short: typeName.replace(/^[ab]\./, "").replaceAll(".", "_"),
    }));
    expect([...shortNames(named).values()].sort()).toEqual(expected.toSorted());
    expect(shortNames(named.toReversed())).toEqual(shortNames(named));
  });
});

test.each([
  ["/v1/{name=shelves/*/books/*}", "/v1/shelves/{shelf}/books/{book}"],
  ["/v1/{name=users/*/users/*}:list", "/v1/users/{user}/users/{user_2}:list"],
  ["/v1/{name=locations}/x", "/v1/locations/x"],
  ["/v1/{name=*/books/*}", "/v1/{name}/books/{book}"],
  ["/v1/{book_id}/{item.id=*}", "/v1/{book_id}/{item.id}"],
  ["/v1/{path=**}:open", "/v1/{path}:open"],
  ["/v1/{path=files/**}", "/v1/files/{file}"],
  ["/v1/any/*/x/**", "/v1/any/{segment}/x/{segment_2}"],
  ["/v1/*/*", "/v1/{segment}/{segment_2}"],
  ["/v1/{a=crypto-keys/*}", "/v1/crypto-keys/{crypto_key}"],
  ["/v1/@me/a%20b/{c}", "/v1/@me/a%20b/{c}"],
  ["/", "/"],
])("%s is shown as %s", (template, path) => {
  const parsed = parsePathTemplate(template);
  expect(
    documentPath(
      parsed,
      pathParameters(parsed).map(({ name }) => name),
    ),
  ).toBe(path);
});

test.each([
  ["shelves", "shelf"],
  ["archives", "archive"],
  ["policies", "policy"],
  ["addresses", "address"],
  ["branches", "branch"],
  ["caches", "cache"],
  ["indexes", "index"],
  ["databases", "database"],
  ["statuses", "status"],
  ["status", "status"],
  ["access", "access"],
  ["series", "series"],
  ["cryptoKeyVersions", "cryptoKeyVersion"],
  ["data", "data"],
])("an element of %s is a %s", (collection, element) => {
  const parsed = parsePathTemplate(`/{name=${collection}/*}`);
  expect(pathParameters(parsed)).toMatchObject([{ name: element, field: "name" }]);
});
