// The export mooring-gateway/fetch of the package.
export { type Call, type CallInfo, type CallTransport, callKey } from "./call.ts";
export { type RestHandlerOptions, restHandler } from "./fetch.ts";
export { createMethods, type Method, type Routes } from "./method.ts";
export type { GatewayOptions, Served } from "./options.ts";
