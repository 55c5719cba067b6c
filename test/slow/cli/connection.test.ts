import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { create } from "@bufbuild/protobuf";
import { ServerCredentials } from "@grpc/grpc-js";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { GetSettingResponseSchema } from "../../../gen/mooring/v1/setting_service_pb.js";
import { builtProgram } from "../../built.ts";
import { startFake } from "../../cli/fake-service.ts";
import { needs } from "../../downloaders/program.ts";
import { temporaryFolder } from "../../temporary.ts";

const PROGRAM = await builtProgram();

test.each(["", "https://"])(
  "a server at %slocalhost that does not answer does not block the program",
  async (scheme) => {
    const server = createServer();
    await once(server.listen(0, "localhost"), "listening");
    onTestFinished(() => void server.close());
    const address = `${scheme}localhost:${(server.address() as AddressInfo).port}`;
    const env = { ...process.env, MOORING_TOKEN: "t", MOORING_ADDRESS: address };
    const args = [PROGRAM, "get", "x", "--timeout", "500ms"];
    const ended = promisify(execFile)(process.execPath, args, { env, timeout: 20_000 });
    expect(await ended.catch((error: unknown) => error)).toMatchObject({ code: 6, killed: false });
  },
);

describe("over TLS", () => {
  beforeEach(needs("openssl"));

  test("a service is called only if its certificate is trusted", async () => {
    const folder = temporaryFolder();
    const [certificate, key] = [join(folder, "certificate.pem"), join(folder, "key.pem")];
    const options = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout ${key} -out ${certificate}`;
    await promisify(execFile)("openssl", options.split(" "));
    const [cert_chain, private_key] = [readFileSync(certificate), readFileSync(key)];
    const fake = await startFake(
      { getSetting: () => create(GetSettingResponseSchema, { setting: { key: "x", value: "y" } }) },
      ServerCredentials.createSsl(null, [{ cert_chain, private_key }]),
    );
    const ask = (trusted: Record<string, string>) =>
      promisify(execFile)(process.execPath, [PROGRAM, "get", "x"], {
        env: {
          ...fake.env,
          MOORING_ADDRESS: fake.address.replace("127.0.0.1", "https://localhost"),
          ...trusted,
        },
      });
    const answered = await ask({ NODE_EXTRA_CA_CERTS: certificate });
    const refused = await ask({}).catch((error: unknown) => error);
    fake.stop();
    expect(answered.stdout).toBe("y\n");
    expect(refused).toMatchObject({
      code: 6,
      stdout: "",
      stderr: expect.stringMatching(
        /the certificate of https:\/\/localhost:\d+ is not trusted: self.signed certificate.*NODE_EXTRA_CA_CERTS/,
      ),
    });
  });
});
