import { createServer } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { address } from "../../src/config/address.ts";
import { type Address, formatAddress } from "../../src/transport/listen.ts";
import { temporaryFolder } from "../temporary.ts";

const context = { cwd: "/srv", parallelism: 1 };

const good: [text: string, value: Address][] = [
  ["127.0.0.1:5244", { host: "127.0.0.1", port: 5244 }],
  ["localhost:5244", { host: "localhost", port: 5244 }],
  ["files.example.org:443", { host: "files.example.org", port: 443 }],
  ["my_container:1", { host: "my_container", port: 1 }],
  [":5244", { host: "", port: 5244 }],
  ["0.0.0.0:65535", { host: "0.0.0.0", port: 65_535 }],
  ["[::1]:5244", { host: "::1", port: 5244 }],
  ["[::]:0", { host: "::", port: 0 }],
  ["unix:/run/mooring.sock", { path: "/run/mooring.sock" }],
  ["unix:mooring.sock", { path: "/srv/mooring.sock" }],
];

test.each(good)("%s is an address", (text, value) => {
  expect(address(text, context)).toEqual({ value });
});

test.each(good)("%s is printed in the form in which it is parsed", (_, value) => {
  expect(address(formatAddress(value), context)).toEqual({ value });
});

test.each([
  ["5244", /write a port alone as :5244/],
  ["127.0.0.1", /write it as 127\.0\.0\.1:5244/],
  ["localhost:", /write it as/],
  ["localhost:http", /write it as/],
  ["localhost:-1", /write it as/],
  ["localhost:65536", /above 65535/],
  ["::1:5244", /brackets/],
  ["[::1", /brackets/],
  ["[localhost]:80", /neither an IP address nor a name/],
  ["*:5244", /write :5244 for all interfaces/],
  ["http://localhost:5244", /brackets/],
  ["999.0.0.1:80", /neither an IP address nor a name/],
  ["a b:80", /neither an IP address nor a name/],
  ["-a:80", /neither an IP address nor a name/],
  ["unix:", /has no path/],
  [`unix:/${"x".repeat(107)}`, /107 bytes/],
])("%s is refused", (text, complaint) => {
  expect(address(text, context)).toEqual({ complaint: expect.stringMatching(complaint) });
});

test("a server listens on a parsed address", async () => {
  const folder = temporaryFolder();
  for (const text of ["127.0.0.1:0", "localhost:0", `unix:${join(folder, "s")}`]) {
    const parsed = address(text, context);
    if ("complaint" in parsed) throw new Error(parsed.complaint);
    const server = createServer();
    await new Promise<void>((done, fail) => {
      server.once("error", fail).listen(parsed.value, done);
    });
    expect(server.listening).toBe(true);
    await new Promise((done) => server.close(done));
  }
});
