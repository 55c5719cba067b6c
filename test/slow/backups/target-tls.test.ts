// Places with a certificate of a private authority, which Node.js reads at the start of a process.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Certificate, makeCertificate } from "../../downloaders/certificate.ts";
import { needs } from "../../downloaders/program.ts";
import { SECRET, startS3, startWebdav, type TargetServer } from "./target-server.ts";

const SERVERS = [
  ["S3", "go", startS3, "s3.ts", "createS3Target"],
  ["WebDAV", "rclone", startWebdav, "webdav.ts", "createWebdavTarget"],
] as const;

describe.each(SERVERS)("%s over TLS", (_kind, program, start, file, create) => {
  let certificate: Certificate;
  let server: TargetServer;
  beforeEach(needs("openssl", program));
  beforeAll(async () => {
    certificate = await makeCertificate();
    if (spawnSync(program, ["version"]).error === undefined) server = await start(certificate);
  }, 600_000);
  afterAll(async () => {
    await server?.stop();
    await certificate.remove();
  });

  /** Writes and reads a file in another process. @returns its output. */
  const use = async (env: Readonly<Record<string, string>>): Promise<string> => {
    const module = new URL(`../../../src/backups/target/${file}`, import.meta.url);
    const script = `
      import { ${create} as create } from ${JSON.stringify(module.href)};
      const target = create(${JSON.stringify(server.options)});
      const { signal } = new AbortController();
      try {
        await target.write("a.json", Buffer.from("content"), signal);
        console.log(String(await target.read("a.json", signal)));
      } catch (error) {
        console.log(error.name + ": " + error.message);
      }`;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", script], {
      env: { PATH: process.env["PATH"], ...env },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [output] = await Promise.all([text(child.stdout), once(child, "exit")]);
    return output;
  };

  test("a certificate that is not trusted is refused, with the remedy and no secret", async () => {
    const output = await use({});
    expect(output).toMatch(
      /^TargetFailure: 127\.0\.0\.1:\d+ cannot be reached: its certificate is not trusted \(DEPTH_ZERO_SELF_SIGNED_CERT\); start the service with NODE_EXTRA_CA_CERTS=/,
    );
    expect(output).not.toContain(SECRET);
  });

  test("the authority of NODE_EXTRA_CA_CERTS is trusted", async () => {
    expect(await use({ NODE_EXTRA_CA_CERTS: certificate.certificate })).toBe("content\n");
  });
});
