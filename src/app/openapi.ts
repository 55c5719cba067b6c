import { hash } from "node:crypto";
import type { FastifyInstance, FastifyReply } from "fastify";
import { createDocument, type DocumentOptions } from "../gateway/openapi/document.ts";
import { escapeHtml } from "../messages/html.ts";
import { createReference, page, STYLE } from "./reference.ts";

/** Link on the first page. */
export interface Link {
  /** Relative to the page, such as `console/`. */
  readonly href: string;
  readonly text: string;
}

export interface OpenApiOptions {
  /** Input of the document; created at its first use. */
  readonly document: () => DocumentOptions;
  /** Name and version, for the first page. */
  readonly name: string;
  readonly description: string;
  /** Further links on the first page. */
  readonly links?: readonly Link[];
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
  const { check, contract = true, name, description, links = [] } = options;
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${hash("sha256", STYLE, "base64")}'`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
  const sendPage = (reply: FastifyReply, html: string): FastifyReply =>
    reply
      .headers({
        "cache-control": "no-cache",
        "content-security-policy": policy,
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
      })
      .type("text/html; charset=utf-8")
      .send(html);
  const own = contract
    ? [
        { href: "reference", text: "Reference of the REST interface" },
        { href: "openapi.json", text: "The same for programs (OpenAPI 3.1)" },
      ]
    : [];
  const items = [...links, ...own].map(
    ({ href, text }) => `<li><a href="${escapeHtml(href)}">${escapeHtml(text)}</a></li>`,
  );
  const first = page(
    name,
    `<h1>${escapeHtml(name)}</h1><p>${escapeHtml(description)}</p><ul>${items.join("")}</ul>`,
  );
  fastify.get("/", (_request, reply) => sendPage(reply, first));
  if (!contract) return;
  const made = once(() => {
    const document = createDocument(options.document());
    return { json: JSON.stringify(document), html: createReference(document) };
  });
  await fastify.register(async (closed) => {
    if (check) closed.addHook("onRequest", ({ headers }) => check(headers.authorization));
    closed.get("/openapi.json", (_request, reply) =>
      reply
        .headers({ "cache-control": "no-cache", "x-content-type-options": "nosniff" })
        .type("application/json; charset=utf-8")
        .send(made().json),
    );
    closed.get("/reference", (_request, reply) => sendPage(reply, made().html));
  });
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
