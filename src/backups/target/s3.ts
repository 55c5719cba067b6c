import { AwsClient } from "aws4fetch";
import { elementsOf, type HttpReply, MAX_FILES, MAX_LIST, send, textsOf } from "./http.ts";
import { type BackupTarget, type StoredFile, TargetFailure } from "./target.ts";

export interface S3Options {
  readonly bucket: string;
  /** Prefix of the keys without slashes at its ends; empty: none. */
  readonly prefix: string;
  /** Address of the server; undefined: AWS. */
  readonly endpoint: string | undefined;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** Objects of a bucket. The bucket is the first part of the path (path style), which all servers know. */
export function createS3Target(options: S3Options): BackupTarget {
  const { bucket, prefix, region, accessKeyId, secretAccessKey } = options;
  const endpoint = options.endpoint ?? `https://s3.${region}.amazonaws.com`;
  // Failed calls are reported: a schedule has its own pauses.
  const client = new AwsClient({ accessKeyId, secretAccessKey, region, service: "s3", retries: 0 });
  const base = `${endpoint.replace(/\/+$/, "")}/${bucket}`;
  const keyOf = (name: string): string => (prefix === "" ? name : `${prefix}/${name}`);
  const urlOf = (name: string): string =>
    `${base}/${keyOf(name).split("/").map(encodeURIComponent).join("/")}`;
  const call = async (
    url: string,
    signal: AbortSignal,
    init: RequestInit = {},
    most?: number,
  ): Promise<HttpReply> => send(await client.sign(url, init), signal, most);
  const expectOk = (reply: HttpReply, what: string): HttpReply => {
    // A copy can fail after its status was sent (S3 API reference, CopyObject).
    const [code = ""] = textsOf(reply.body.toString("utf8", 0, 4_096), "Code");
    if (reply.status >= 200 && reply.status < 300 && (what !== "copy" || code === "")) return reply;
    throw new TargetFailure(`${what} failed: HTTP ${reply.status} ${code.slice(0, 100)}`.trim());
  };
  return {
    place: `s3://${bucket}${prefix === "" ? "" : `/${prefix}`}`,
    list: async (signal) => {
      const files: StoredFile[] = [];
      let next: string | undefined;
      do {
        const query = new URLSearchParams({ "list-type": "2", "encoding-type": "url" });
        query.set("prefix", keyOf(""));
        if (next !== undefined) query.set("continuation-token", next);
        const reply = expectOk(await call(`${base}?${query}`, signal, {}, MAX_LIST), "list");
        const xml = reply.body.toString("utf8");
        for (const object of elementsOf(xml, "Contents")) {
          const [key = ""] = textsOf(object, "Key");
          const [size = ""] = textsOf(object, "Size");
          const name = decodeKey(key).slice(keyOf("").length);
          if (name !== "" && !name.includes("/")) files.push({ name, size: Number(size) });
        }
        [next] = textsOf(xml, "NextContinuationToken");
      } while (next !== undefined && files.length < MAX_FILES);
      return files;
    },
    read: async (name, signal) => {
      const reply = await call(urlOf(name), signal);
      return reply.status === 404 ? undefined : expectOk(reply, "read").body;
    },
    write: async (name, content, signal) => {
      const headers = { "content-type": "application/json" };
      expectOk(
        await call(urlOf(name), signal, { method: "PUT", body: new Uint8Array(content), headers }),
        "write",
      );
    },
    rename: async (from, to, signal) => {
      const source = `/${bucket}/${keyOf(from).split("/").map(encodeURIComponent).join("/")}`;
      const headers = { "x-amz-copy-source": source };
      expectOk(await call(urlOf(to), signal, { method: "PUT", headers }), "copy");
      expectOk(await call(urlOf(from), signal, { method: "DELETE" }), "remove");
    },
    remove: async (name, signal) => {
      const reply = await call(urlOf(name), signal, { method: "DELETE" });
      if (reply.status !== 404) expectOk(reply, "remove");
    },
  };
}

/** A key of a list with `encoding-type=url`, where a space is a plus sign. */
function decodeKey(key: string): string {
  try {
    return decodeURIComponent(key.replaceAll("+", " "));
  } catch {
    return key;
  }
}
