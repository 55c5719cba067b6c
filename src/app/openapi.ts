import type { FastifyInstance } from "fastify";
import { createDocument, type DocumentOptions } from "../gateway/openapi/document.ts";
import { memoize } from "../memoize.ts";
import { generatedPage, sendPage } from "./generated-page.ts";
import { createReference } from "./reference-page.ts";
import {
  type Link,
  START_TEXTS,
  type StartPage,
  type StartState,
  startHtml,
} from "./start-page.ts";

export interface OpenApiOptions {
  /** Input of the document; created at its first use. */
  readonly document: () => DocumentOptions;
  /** Name and version, for the first page. */
  readonly name: string;
  readonly description: string;
  /** State of the service, for the first page. Default: none. */
  readonly state?: () => Promise<StartState>;
  /** Links on the first page; the first one is the next step. */
  readonly links?: readonly Link[];
  /** Language of the first page for a header Accept-Language. Default: English. */
  readonly translationFor?: (acceptLanguage: string | undefined) => StartPage["translation"];
  /** Rejects requests without access to the contract, by the header `authorization`. */
  readonly check?: ((authorization: string | undefined) => Promise<void>) | undefined;
  /** Also serve `/openapi.json` and `/reference`. Default true. */
  readonly contract?: boolean;
}

/**
 * Fastify plugin that serves a start page at `/`, the OpenAPI document at `/openapi.json` and a reference
 * at `/reference`, without scripts and foreign requests.
 */
export async function openApiPlugin(
  fastify: FastifyInstance,
  options: OpenApiOptions,
): Promise<void> {
  const { check, contract = true, name, description, links = [], state } = options;
  const { translationFor = () => ({ language: "en", translate: (text: string) => text }) } =
    options;
  const contractLinks = contract
    ? [
        { href: "reference", text: START_TEXTS.reference },
        { href: "openapi.json", text: START_TEXTS.openapi },
      ]
    : [];
  fastify.get("/", async ({ headers }, reply) => {
    const translation = translationFor(headers["accept-language"]);
    const html = startHtml({
      name,
      description,
      links,
      contract: contractLinks,
      state: await state?.(),
      translation,
    });
    reply.headers({ "content-language": translation.language, vary: "Accept-Language" });
    return sendPage(reply, generatedPage(name, html, translation.language));
  });
  if (!contract) return;
  // Created at the first request.
  const contractOf = memoize((inputOf: OpenApiOptions["document"]) => {
    const document = createDocument(inputOf());
    return { json: JSON.stringify(document), html: createReference(document) };
  });
  await fastify.register(async (closed) => {
    if (check) closed.addHook("onRequest", ({ headers }) => check(headers.authorization));
    closed.get("/openapi.json", (_request, reply) =>
      reply
        .headers({ "cache-control": "no-cache", "x-content-type-options": "nosniff" })
        .type("application/json; charset=utf-8")
        .send(contractOf(options.document).json),
    );
    closed.get("/reference", (_request, reply) =>
      sendPage(reply, contractOf(options.document).html),
    );
  });
}
