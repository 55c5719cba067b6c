// Runs in a browser, on a page of another origin than the service's. Each function returns plain
// values for the test.
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web";
import { BadRequestSchema } from "/gen/google/rpc/error_details_pb.js";
import { DriverService } from "/gen/mooring/v1/driver_service_pb.js";
import { PublicService } from "/gen/mooring/v1/public_service_pb.js";
import { SettingService } from "/gen/mooring/v1/setting_service_pb.js";

const transports = {
  Connect: (baseUrl) => createConnectTransport({ baseUrl }),
  "Connect with GET": (baseUrl) => createConnectTransport({ baseUrl, useHttpGet: true }),
  "Connect with bytes": (baseUrl) => createConnectTransport({ baseUrl, useBinaryFormat: true }),
  "gRPC-Web": (baseUrl) => createGrpcWebTransport({ baseUrl }),
};

function client(service, { protocol, baseUrl }) {
  return createClient(service, transports[protocol](baseUrl));
}

async function failureOf(promise) {
  const thrown = await promise.then(
    () => undefined,
    (error) => ConnectError.from(error),
  );
  return (
    thrown && {
      code: Code[thrown.code],
      message: thrown.rawMessage,
      requestId: thrown.metadata.get("x-request-id"),
      fields: thrown
        .findDetails(BadRequestSchema)
        .flatMap(({ fieldViolations }) => fieldViolations.map(({ field }) => field)),
    }
  );
}

const asAdmin = (token) => ({ headers: { authorization: `Bearer ${token}` } });

globalThis.mooring = {
  async publicSettings(at) {
    const { settings } = await client(PublicService, at).getPublicSettings({});
    return settings;
  },

  async driverNames(at, token) {
    const { names } = await client(DriverService, at).listDriverNames({}, asAdmin(token));
    return names;
  },

  driverNamesAsGuest: (at) => failureOf(client(DriverService, at).listDriverNames({})),

  wrongSave: (at, token) =>
    failureOf(
      client(SettingService, at).saveSettings(
        { settings: [{ key: "default_page_size", value: "many" }] },
        asAdmin(token),
      ),
    ),

  /** Opens the stream, saves a setting, and returns the first two events. */
  async watchPublicSettings(at, token) {
    const leaving = new AbortController();
    const { signal } = leaving;
    const events = [];
    try {
      for await (const { event } of client(PublicService, at).watchPublicSettings({}, { signal })) {
        events.push(event.case === "snapshot" ? event.value.settings : event.value?.set);
        if (events.length === 2) break;
        const settings = [{ key: "site_title", value: `Seen by ${at.protocol}` }];
        await client(SettingService, at).saveSettings({ settings }, asAdmin(token));
      }
    } finally {
      leaving.abort();
    }
    return events;
  },

  async rest(url, init) {
    const reply = await fetch(url, init);
    const { status, headers } = reply;
    const text = await reply.text();
    return {
      status,
      etag: headers.get("etag"),
      requestId: headers.get("x-request-id"),
      json: text === "" ? undefined : JSON.parse(text),
    };
  },

  restFailure: (url, init) => fetch(url, init).then(() => undefined, String),

  /** As `watchPublicSettings`, with the browser's own EventSource. */
  async eventSource(baseUrl, token) {
    const source = new EventSource(`${baseUrl}/api/public/settings/watch`);
    const events = [];
    await new Promise((resolve, reject) => {
      source.onerror = () => reject(new Error("the stream has failed"));
      source.onmessage = async ({ data, lastEventId }) => {
        events.push({ id: lastEventId, ...JSON.parse(data) });
        if (events.length === 2) return resolve();
        await fetch(`${baseUrl}/api/admin/setting/save`, {
          method: "POST",
          headers: { authorization: token, "content-type": "application/json" },
          body: JSON.stringify([{ key: "site_title", value: "Seen by EventSource" }]),
        });
      };
    });
    source.close();
    return events;
  },
};
