import type { OutgoingHttpHeaders } from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { ConnectError } from "@connectrpc/connect";
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import {
  BadRequest_FieldViolationSchema,
  BadRequestSchema,
} from "../../gen/google/rpc/error_details_pb.js";
import { wellFormed } from "./failure.ts";

/** The trailers of a call that has failed (gRPC over HTTP/2, "Responses"). */
export function failureTrailers(failure: ConnectError): OutgoingHttpHeaders {
  const error = withinTrailers(wellFormed(failure));
  return {
    ...Object.fromEntries(setTrailerStatus(new Headers(), error)),
    // Escapes only required characters (gRPC over HTTP/2, "Responses"): grpc-js decodes few others.
    "grpc-message": escapeMessage(error.rawMessage),
  };
}

function escapeMessage(text: string): string {
  return text.toWellFormed().replace(/[^\x20-\x24\x26-\x7e]+/g, encodeURIComponent);
}

/** UTF-8 bytes of an error's message in trailers, which contain it twice, and of its details. */
const MAX_MESSAGE = 1_024;
const MAX_DETAILS = 2_048;
/** Bytes of a type URL and of lengths, for each value. */
const BESIDE = 64;

type Detail = ConnectError["details"][number];

/**
 * Limits an error to the size of HTTP/2 trailers: gRPC clients fail with INTERNAL when the trailers
 * of a reply exceed their limit, 8 KiB in grpc-java and 16 KiB in Node. A longer message is cut,
 * and the first violations of `google.rpc.BadRequest` and the other details that fit are kept.
 */
function withinTrailers(error: ConnectError): ConnectError {
  const { rawMessage, code, metadata, cause } = error;
  const isSmall = error.details.reduce((sum, one) => sum + sizeOf(one), 0) <= MAX_DETAILS;
  if (isSmall && Buffer.byteLength(rawMessage) <= MAX_MESSAGE) return error;
  const small = new ConnectError(cut(rawMessage), code, metadata, undefined, cause);
  let left = MAX_DETAILS;
  const others = error.details.filter((detail) => {
    const fits = !isBadRequest(detail) && sizeOf(detail) <= left;
    if (fits) left -= sizeOf(detail);
    return fits;
  });
  left -= BESIDE;
  const [{ fieldViolations } = create(BadRequestSchema)] = error.findDetails(BadRequestSchema);
  const beyond = fieldViolations.findIndex((violation) => {
    left -= toBinary(BadRequest_FieldViolationSchema, violation).length + 4;
    return left < 0;
  });
  const first = beyond < 0 ? fieldViolations : fieldViolations.slice(0, beyond);
  const value = { fieldViolations: first };
  small.details = first.length === 0 ? others : [{ desc: BadRequestSchema, value }, ...others];
  return small;
}

function isBadRequest(detail: Detail): boolean {
  return ("desc" in detail ? detail.desc.typeName : detail.type) === BadRequestSchema.typeName;
}

function sizeOf(detail: Detail): number {
  const { value } =
    "desc" in detail ? anyPack(detail.desc, create(detail.desc, detail.value)) : detail;
  return value.length + BESIDE;
}

/** Cuts a text at a character boundary. */
function cut(text: string): string {
  if (Buffer.byteLength(text) <= MAX_MESSAGE) return text;
  const bytes = new Uint8Array(MAX_MESSAGE - 3);
  const { read } = new TextEncoder().encodeInto(text, bytes);
  return `${text.slice(0, read)}…`;
}
