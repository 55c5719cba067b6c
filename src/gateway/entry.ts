// Exports of the package mooring-gateway.
export { type Call, type CallInfo, type CallTransport, callKey } from "./call.ts";
export { frameworkErrors, type RestGatewayOptions, restGateway } from "./gateway.ts";
export { createMethods, type Method, type Routes } from "./method.ts";
export { createOpenApi, type OpenApiOptions } from "./openapi/document.ts";
export type { GatewayOptions, Served } from "./options.ts";
export type { ReadingOptions, Tolerance, UnknownParameters } from "./rest/reading.ts";
export { type GatewayRoute, listRoutes } from "./rest/rest.ts";
export { type BesideRule, RuleError, serviceConfigRules } from "./rest/rule.ts";
