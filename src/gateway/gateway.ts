import type { FastifyInstance } from "fastify";
import { registerConnect } from "./connect.ts";
import { complete, type GatewayOptions } from "./options.ts";
import { registerRest } from "./rest/rest.ts";
import { type Served, servedMethods } from "./served.ts";

/** What is served, and how. */
export interface RestGatewayOptions extends Omit<GatewayOptions, "methods">, Served {}

/**
 * A Fastify plugin that serves rpcs: over REST by their `google.api.http` rules, a route for each,
 * and over Connect and gRPC-Web. It takes no more of the application than its own routes: hooks and
 * plugins around it see every request.
 *
 * @throws RuleError that names the rpc and the reason when a rule can't be served.
 */
export async function restGateway(
  fastify: FastifyInstance,
  options: RestGatewayOptions,
): Promise<void> {
  // Bodies are read here, after the token; Fastify's own parsers would read them before.
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser("*", (_request, _payload, done) => done(null));
  const gateway = complete({ ...options, methods: servedMethods(options) });
  registerRest(fastify, gateway);
  if (options.connect !== false) registerConnect(fastify, gateway);
}
