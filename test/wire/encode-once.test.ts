import { create } from "@bufbuild/protobuf";
import { expect, onTestFinished, test } from "vitest";
import {
  PublicService,
  WatchPublicSettingsResponseSchema,
} from "../../gen/mooring/v1/public_service_pb.js";
import { sharedPortTransports } from "./all-transports.ts";
import { serveRoutes } from "./serve-routes.ts";

const { watchPublicSettings } = PublicService.method;

/** Streams of each transport that get the same event. */
const READERS = 20;

test.each(sharedPortTransports.map((one) => [one.name, one] as const))(
  "an event is encoded once for all its readers over %s",
  async (_name, { open }) => {
    let encoded = 0;
    const snapshot = { site_title: "Harbour" };
    const event = create(WatchPublicSettingsResponseSchema, { revision: 1n });
    const sent = create(WatchPublicSettingsResponseSchema, {
      event: { case: "snapshot", value: { settings: snapshot } },
    }).event;
    // Encoding the event reads it.
    Object.defineProperty(event, "event", {
      enumerable: true,
      get: () => {
        encoded += 1;
        return sent;
      },
    });
    const { promise: allJoined, resolve } = Promise.withResolvers<void>();
    let readers = 0;
    const served = await serveRoutes((router) =>
      router.service(PublicService, {
        async *watchPublicSettings() {
          readers += 1;
          if (readers === READERS) resolve();
          await allJoined;
          yield event;
        },
      }),
    );
    onTestFinished(() => served.close());
    const transport = open(served);
    onTestFinished(() => transport.close());
    if (!transport.carries(watchPublicSettings)) return;
    const first = async (): Promise<unknown> => {
      const request = create(watchPublicSettings.input);
      for await (const message of transport.watch(watchPublicSettings, request, {})) return message;
      return undefined;
    };
    const messages = await Promise.all(Array.from({ length: READERS }, first));
    for (const message of messages)
      expect(message).toMatchObject({ snapshot: { settings: snapshot } });
    // One encoding may read a member more than once, but not as often as there are readers.
    expect(encoded).toBeLessThan(READERS / 2);
    expect(encoded).toBeGreaterThan(0);
  },
);
