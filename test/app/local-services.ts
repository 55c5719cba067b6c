import { create, type DescMethod, type Message } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { pino } from "pino";
import { Admission, type Grant, ROOT } from "../../src/access/grant.ts";
import { createRoutes } from "../../src/app/routes.ts";
import { type RunningServices, type ServicesDeps, startServices } from "../../src/app/services.ts";
import { Call } from "../../src/gateway/call.ts";
import { createMethods, type Method } from "../../src/gateway/method.ts";
import { createTranslations } from "../../src/messages/language.ts";
import { createLocalize } from "../../src/messages/localize.ts";
import { quickKey } from "../archive/text.ts";
import { checkHere, configOf, TOKEN, VERSION } from "../wire/service.ts";

/** A call without a transport. */
class LocalCall extends Call {
  readonly transport = "connect";
  readonly requestMethod = "POST";
  readonly url = "/";
  encode = (reply: Message): unknown => reply;
  header = (): undefined => undefined;
  protected headers = (): Headers => new Headers();
  protected address = (): string => "";
  protected onGone = (): void => {};
}

/** All rpcs on a database, without transports, authentication and interceptors. */
export interface LocalServices {
  readonly services: RunningServices;
  /** Calls a unary rpc as root. @param request its members, by their local names. */
  call(name: string, request?: Record<string, unknown>): Promise<Message>;
  /** Opens a stream of a server-streaming rpc. */
  open(desc: DescMethod, grant?: Grant, request?: Record<string, unknown>): LocalStream;
  close(): Promise<void>;
}

export interface LocalStream {
  next(): Promise<Message>;
  close(): Promise<void>;
}

/**
 * @param folder of the database.
 * @param deps others than the usual ones of tests.
 */
export async function startLocalServices(
  folder: string,
  env: Readonly<Record<string, string>> = {},
  deps: Partial<ServicesDeps> = {},
): Promise<LocalServices> {
  const translations = createTranslations();
  const log = pino({ level: "silent" });
  const config = configOf(folder, env);
  const services = await startServices(config, {
    log,
    commonLog: log,
    watchers: () => 0,
    localize: createLocalize(translations),
    draining: () => false,
    version: VERSION,
    deriveKey: quickKey,
    checkBackup: checkHere(config),
    showToken: () => {},
    siteTimes: { tick: 30 },
    mountTimes: { tick: 30, read: 30, watch: 30 },
    ...deps,
  });
  const all = createMethods(createRoutes(services, undefined, translations));
  const methods = new Map(all.map((method) => [method.desc.name, method]));
  const callOf = ({ desc }: Method, grant: Grant): LocalCall => {
    const call = new LocalCall(desc, "request");
    call.actor = "admin";
    call.principal = new Admission({ name: "admin", tokenId: "", grant }, TOKEN, 0);
    return call;
  };
  return {
    services,
    call: async (name, request = {}) => {
      const method = methods.get(name);
      if (method?.kind !== "unary") throw new Error(`${name} is not a unary rpc`);
      const message = create(method.desc.input, request);
      return (await method.invoke(message, callOf(method, ROOT))).message;
    },
    open: ({ name }, grant = ROOT, request = {}) => {
      const method = methods.get(name);
      if (method?.kind !== "server_streaming") throw new Error(`${name} is not a stream`);
      const call = callOf(method, grant);
      const messages = method.invoke(create(method.desc.input, request), call);
      const stream = messages[Symbol.asyncIterator]();
      return {
        next: async () => (await stream.next()).value,
        close: async () => {
          call.abort(new ConnectError("ended", Code.Canceled));
          await stream.return?.();
        },
      };
    },
    close: async () => {
      services.endStreams();
      await services.close();
    },
  };
}
