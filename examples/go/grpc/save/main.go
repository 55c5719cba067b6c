// Reads the public settings, saves one unless it has changed since, and prints the error of another.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	mooring "harbour/gen/mooring/v1"
)

func main() {
	plain := grpc.WithTransportCredentials(insecure.NewCredentials())
	conn := must(grpc.NewClient(os.Getenv("MOORING_ADDRESS"), plain))
	ctx := metadata.AppendToOutgoingContext(context.Background(), "authorization", os.Getenv("MOORING_TOKEN"))
	seen := must(mooring.NewPublicServiceClient(conn).GetPublicSettings(ctx, &mooring.GetPublicSettingsRequest{}))
	fmt.Println("title:", seen.Settings["site_title"])

	settings := mooring.NewSettingServiceClient(conn)
	title := &mooring.SettingInput{Key: "site_title", Value: proto.String(fmt.Sprint("Harbour ", os.Getpid()))}
	saved := must(settings.SaveSettings(ctx, &mooring.SaveSettingsRequest{
		Settings: []*mooring.SettingInput{title}, ExpectedEtag: &seen.Etag}))
	fmt.Println("saved at revision:", saved.Revision)

	wrong := &mooring.SettingInput{Key: "default_page_size", Value: proto.String("many")}
	_, err := settings.SaveSettings(ctx, &mooring.SaveSettingsRequest{Settings: []*mooring.SettingInput{wrong}})
	for _, detail := range status.Convert(err).Details() {
		if request, ok := detail.(*errdetails.BadRequest); ok {
			fmt.Println("refused:", request.FieldViolations[0].Field)
		}
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}
