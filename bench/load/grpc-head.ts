/** Fields of a gRPC request over plain HTTP/2, pseudo fields first (gRPC over HTTP/2, Requests). */
export function grpcHead(
  port: number,
  path: string,
  token?: string,
): readonly (readonly [string, string])[] {
  return [
    [":method", "POST"],
    [":scheme", "http"],
    [":path", path],
    [":authority", `127.0.0.1:${port}`],
    ["content-type", "application/grpc"],
    ["te", "trailers"],
    ...(token === undefined ? [] : [["authorization", token] as const]),
  ];
}
