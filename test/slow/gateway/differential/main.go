// Answers HTTP requests as grpc-gateway and as vanguard do, both in front of one gRPC server that
// returns each request. Reads a JSON object with the bytes of a request on each line of its input and
// writes both replies, with the calls that reached the server, on a line of its output.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"

	"connectrpc.com/vanguard/vanguardgrpc"
	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	peerv1 "mooring/differential/build/gen/peer/v1"
)

type peer struct {
	peerv1.UnimplementedPeerServiceServer
}

// Reached is a call that the server received.
type Reached struct {
	Method  string `json:"method"`
	Message []byte `json:"message"`
}

// Reply is the reply of one peer.
type Reply struct {
	Status  int      `json:"status"`
	Type    string   `json:"type"`
	Body    []byte   `json:"body"`
	Reached *Reached `json:"reached,omitempty"`
}

var reached *Reached

func intercept(_ context.Context, request any, info *grpc.UnaryServerInfo, _ grpc.UnaryHandler) (any, error) {
	message := request.(proto.Message)
	note(info.FullMethod, message)
	switch info.FullMethod {
	case peerv1.PeerService_Fail_FullMethodName:
		all := message.(*peerv1.All)
		code := codes.Code(all.GetI32())
		if code < codes.Canceled || code > codes.Unauthenticated {
			code = codes.Unknown
		}
		return nil, status.Error(code, all.GetS())
	case peerv1.PeerService_Download_FullMethodName:
		file := message.(*peerv1.File)
		return &httpbody.HttpBody{ContentType: "text/x-file", Data: []byte(file.GetName())}, nil
	}
	return message, nil
}

// Stream sends its request, and fails on request.
func (peer) Stream(all *peerv1.All, stream grpc.ServerStreamingServer[peerv1.All]) error {
	note(peerv1.PeerService_Stream_FullMethodName, all)
	count := min(all.GetI32(), 3)
	if count == 0 {
		count = 2
	}
	for range count {
		if err := stream.Send(all); err != nil {
			return err
		}
	}
	code := codes.Code(all.GetOi())
	if code < codes.Canceled || code > codes.Unauthenticated {
		return nil
	}
	return status.Error(code, "stopped")
}

// StreamPart sends its request twice.
func (peer) StreamPart(all *peerv1.All, stream grpc.ServerStreamingServer[peerv1.All]) error {
	note(peerv1.PeerService_StreamPart_FullMethodName, all)
	if err := stream.Send(all); err != nil {
		return err
	}
	return stream.Send(all)
}

// Chunks sends the name in two messages.
func (peer) Chunks(file *peerv1.File, stream grpc.ServerStreamingServer[httpbody.HttpBody]) error {
	note(peerv1.PeerService_Chunks_FullMethodName, file)
	for _, data := range []string{file.GetName(), "; end"} {
		if err := stream.Send(&httpbody.HttpBody{ContentType: "text/x-file", Data: []byte(data)}); err != nil {
			return err
		}
	}
	return nil
}

func note(method string, message proto.Message) {
	encoded, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	if err != nil {
		log.Fatal(err)
	}
	reached = &Reached{Method: method, Message: encoded}
}

func answer(handler http.Handler, raw []byte) Reply {
	reached = nil
	request, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(raw)))
	if err != nil {
		return Reply{Status: http.StatusBadRequest}
	}
	request.RemoteAddr = "127.0.0.1:1"
	recorder := httptest.NewRecorder()
	serve(handler, recorder, request)
	result := recorder.Result()
	return Reply{
		Status:  result.StatusCode,
		Type:    result.Header.Get("Content-Type"),
		Body:    recorder.Body.Bytes(),
		Reached: reached,
	}
}

// A handler that panics ends only its connection, as in net/http.
func serve(handler http.Handler, recorder *httptest.ResponseRecorder, request *http.Request) {
	defer func() {
		if recover() != nil {
			recorder.Code = 0
		}
	}()
	handler.ServeHTTP(recorder, request)
}

func main() {
	server := grpc.NewServer(grpc.UnaryInterceptor(intercept))
	peerv1.RegisterPeerServiceServer(server, &peer{})
	listener := bufconn.Listen(1 << 20)
	go func() { log.Fatal(server.Serve(listener)) }()
	connection, err := grpc.NewClient("passthrough:///peer",
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	gateway := runtime.NewServeMux(
		runtime.WithUnescapingMode(runtime.UnescapingModeAllExceptSlash),
		runtime.WithMarshalerOption(runtime.MIMEWildcard, &runtime.HTTPBodyMarshaler{Marshaler: defaultMarshaler()}))
	if err := peerv1.RegisterPeerServiceHandler(context.Background(), gateway, connection); err != nil {
		log.Fatal(err)
	}
	transcoder, err := vanguardgrpc.NewTranscoder(server)
	if err != nil {
		log.Fatal(err)
	}
	input := bufio.NewScanner(os.Stdin)
	input.Buffer(nil, 1<<24)
	output := json.NewEncoder(os.Stdout)
	for input.Scan() {
		var line struct {
			Request []byte `json:"request"`
		}
		if err := json.Unmarshal(input.Bytes(), &line); err != nil {
			log.Fatal(err)
		}
		replies := map[string]Reply{"gateway": answer(gateway, line.Request), "vanguard": answer(transcoder, line.Request)}
		if err := output.Encode(replies); err != nil {
			log.Fatal(err)
		}
	}
}
